// Package sessiontest reads the golden files of package session for the tests of what converts its events.
package sessiontest

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// ReadEvents returns an event of every kind with all its fields, from events.txt of package session at the path. The
// events are of the session ses_a and have the seq 3.
func ReadEvents(t *testing.T, path string) []*session.Event {
	t.Helper()
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Decode the lines: "KIND.VERSION public=BOOL PAYLOAD".
	var out []*session.Event
	for line := range strings.Lines(string(golden)) {
		name, rest, _ := strings.Cut(line, " ")
		_, raw, _ := strings.Cut(rest, " ")
		dot := strings.LastIndex(name, ".")
		d, err := session.DecodeData(session.Kind(name[:dot]), int(name[dot+1]-'0'), []byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, &session.Event{ID: "evt_a", SessionID: "ses_a", Seq: 3, Data: d})
	}
	if want := len(session.ListKinds()); len(out) != want {
		t.Fatalf("%s has %d events, want %d", path, len(out), want)
	}
	return out
}
