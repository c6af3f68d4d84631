package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestShare: /share shows what is replaced before it publishes, and withdraws what is published.
func TestShare(t *testing.T) {
	m, changes := factsModel(t, map[string]string{
		"/api/session/ses_1/message": `{"data":[{"id":"msg_1","type":"user","time":{"created":1},"text":"use AKIAQ3EGRTB7WZ5YXK2M"}],"cursor":{}}`,
	})
	ask := func(command string) string {
		typeText(m, "/"+command+" ")
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		frame, _ := m.renderFrame()
		return ansi.Strip(frame)
	}
	if got := ask("share"); !strings.Contains(got, "Publish the session?") || !strings.Contains(got, "use [redacted]") {
		t.Error(got)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}) // keeps it
	if ask("share"); len(*changes) > 0 {
		t.Errorf("published without an answer: %q", *changes)
	}
	typeText(m, "y")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	m.session.Share = &session.Share{URL: "https://h/share/x"}
	if got := ask("share"); !strings.Contains(got, "https://h/share/x") {
		t.Error(got)
	}
	typeText(m, "w")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	want := []string{"POST /api/session/ses_1/share", "DELETE /api/session/ses_1/share"}
	if diff := cmp.Diff(want, *changes); diff != "" {
		t.Error(diff)
	}
}
