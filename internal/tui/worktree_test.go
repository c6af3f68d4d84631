package tui

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestWorktreeCommand: /worktree makes a worktree, with a name if one is given, and opens a session in it; the note says
// where that is, and what is wrong.
func TestWorktreeCommand(t *testing.T) {
	for name, c := range map[string]struct {
		typed, problem string
		fails          bool
		body, note     string
	}{
		"without a name": {typed: "/worktree", body: `{"prepare":true}`, note: "a session in the worktree /trees/fix"},
		"named":          {typed: "/worktree fix", body: `{"name":"fix","prepare":true}`, note: "a session in the worktree /trees/fix"},
		"not prepared": {
			typed: "/worktree", problem: "npm ci: exit code 1", body: `{"prepare":true}`,
			note: "could not be prepared (cairn worktree prepare fix does that again): npm ci: exit code 1",
		},
		"refused": {typed: "/worktree", fails: true, body: `{"prepare":true}`, note: "is in no git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestModel(t, composer.DraftFile{})
			m.Update(tea.WindowSizeMsg{Width: 160, Height: 24})
			var bodies []string
			answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == "/api/worktree" && c.fails:
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"_tag":"InvalidRequestError","message":"/src is in no git repository"}`)
				case r.URL.Path == "/api/worktree":
					bodies = append(bodies, string(raw))
					_, _ = io.WriteString(w, `{"directory":"/trees/fix","name":"fix","problem":"`+c.problem+`"}`)
				default:
					bodies = append(bodies, string(raw))
					_, _ = io.WriteString(w, `{"data":{"id":"ses_new"}}`)
				}
			})
			m.run = func(func(context.Context) tea.Msg) tea.Cmd { return nil } // opens the session
			m.wait = func(f func(context.Context) tea.Msg) tea.Cmd { m.Update(f(t.Context())); return nil }
			typeText(m, c.typed)
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
			frame, _ := m.renderFrame()
			if !strings.Contains(m.note+frame, c.note) {
				t.Errorf("the note is %q in\n%s", m.note, frame)
			}
			isInTree := func(body string) bool { return strings.Contains(body, `"directory":"/trees/fix"`) }
			if !c.fails && !slices.Equal(bodies[:1], []string{c.body}) || slices.ContainsFunc(bodies, isInTree) == c.fails {
				t.Errorf("the calls had %q", bodies)
			}
		})
	}
}
