package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestNotificationNamesSession: the notification of a terminal without the focus names the session and what it asks, in
// both forms that terminals know.
func TestNotificationNamesSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.Update(tea.BlurMsg{})
	question := session.PendingAsk{ID: "que_1", SessionID: "ses_1", Questions: []session.Question{{Question: "Which one?"}}}
	for _, a := range []session.PendingAsk{editAsk("per_1"), question} {
		got := fmt.Sprint(rawOf(addAsk(m, a)))
		want := "a.txt"
		if a.IsQuestion() {
			want = "Which one?"
		}
		for _, osc := range []string{"\x1b]9;", "\x1b]777;notify;"} {
			_, text, found := strings.Cut(got, osc)
			text, _, _ = strings.Cut(text, "\x1b\\")
			if !found || !strings.Contains(text, "Replace foo by bar") || !strings.Contains(text, want) {
				t.Errorf("%q of %q", text, got)
			}
		}
	}
}
