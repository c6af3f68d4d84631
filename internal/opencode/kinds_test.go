package opencode

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sessiontest"
)

// The fold converts an event of every kind, and announces every change of a session.
func TestFoldOfEveryKind(t *testing.T) {
	for _, e := range sessiontest.ReadEvents(t, "../session/testdata/events.txt") {
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
