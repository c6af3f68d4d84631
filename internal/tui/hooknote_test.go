package tui

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// TestHookNote: what a hook of the shown session has to say is the note, and that of another one is not.
func TestHookNote(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.Update(feed.Note{Note: session.Note{SessionID: "ses_other", Source: "hook/Stop/1", Text: "no"}})
	if m.note != "" {
		t.Errorf("the note of another session is shown: %q", m.note)
	}
	m.Update(feed.Note{Note: session.Note{SessionID: m.session.ID, Source: "hook/Stop/1", Text: "exit code 3: odd"}})
	if m.note != "hook/Stop/1: exit code 3: odd" {
		t.Errorf("the note is %q", m.note)
	}
}
