package opencode

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// storedEvents returns an event of every kind, with all fields, from the golden file of the stored forms.
func storedEvents(t *testing.T) []*session.Event {
	t.Helper()
	golden, err := os.ReadFile("../session/testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	data := map[session.Kind]session.EventData{}
	for line := range strings.Lines(string(golden)) {
		name, rest, _ := strings.Cut(line, " ")
		_, raw, _ := strings.Cut(rest, " ")
		dot := strings.LastIndex(name, ".")
		kind, version := session.Kind(name[:dot]), int(name[dot+1]-'0')
		if data[kind], err = session.DecodeData(kind, version, []byte(raw)); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	var out []*session.Event
	for _, k := range session.ListKinds() {
		if data[k] == nil {
			t.Fatalf("%s: not in the golden file", k)
		}
		out = append(out, &session.Event{ID: "evt_a", SessionID: "ses_a", Seq: 3, Data: data[k]})
	}
	return out
}

// The fold converts an event of every kind, and announces every change of a session.
func TestFoldOfEveryKind(t *testing.T) {
	for _, e := range storedEvents(t) {
		f := Begin()
		f.Session.ID = "ses_a"
		updates := 0
		for _, out := range f.ApplyEvent(e) {
			if out.Type == "session.updated" {
				updates++
			}
		}
		if session.ChangesSession(e.Data) && updates != 1 {
			t.Errorf("%s: session.updated was sent %d times, want once", e.Data.Kind(), updates)
		}
	}
}
