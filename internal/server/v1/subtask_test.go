package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// A command for a subagent is a subtask part: the user's message keeps the client's agent, the task is a call of its
// own, and the model reports on it.
func TestCommandForSubagent(t *testing.T) {
	w := newWorldOf(
		t,
		answering(t),
		`, "command": {
			"find": {"template": "Find $1 in @notes.md", "agent": "explore", "description": "Finds."},
			"inline": {"template": "Find $ARGUMENTS", "agent": "explore", "subtask": false},
			"apart": {"template": "Do $ARGUMENTS", "subtask": true, "model": "mock/main"}}`,
		map[string]string{"notes.md": "here\n"},
	)
	for _, c := range []struct {
		command, agent, prompt string
		parts                  int
	}{
		{"find", "explore", "Find it in @notes.md", 4},
		{"apart", "build", "Do it", 4},
		{"inline", "", "", 2},
	} {
		id := newSession(t, w, `{"title":"Commands"}`)
		a := w.ask(t, http.MethodPost, "/session/"+id+"/command",
			`{"command":"`+c.command+`","arguments":"it","agent":"build"}`)
		if a.status != http.StatusOK || !strings.Contains(a.body, `"text":"Hello."`) {
			t.Fatal(c.command, a)
		}
		ms := get[[]struct {
			Info struct {
				ID       string `json:"id"`
				Role     string `json:"role"`
				Agent    string `json:"agent"`
				Finish   string `json:"finish"`
				ParentID string `json:"parentID"`
				Summary  any    `json:"summary"`
			} `json:"info"`
			Parts []struct {
				Type    string `json:"type"`
				Tool    string `json:"tool"`
				Agent   string `json:"agent"`
				Prompt  string `json:"prompt"`
				Command string `json:"command"`
				Model   struct {
					ModelID string `json:"modelID"`
				} `json:"model"`
				Synthetic bool `json:"synthetic"`
				State     struct {
					Status   string `json:"status"`
					Output   string `json:"output"`
					Metadata struct {
						SessionID string `json:"sessionId"`
					} `json:"metadata"`
				} `json:"state"`
			} `json:"parts"`
		}](t, w, "/session/"+id+"/message")
		if len(ms) != c.parts {
			t.Fatalf("%s: %d messages: %+v", c.command, len(ms), ms)
		}
		if c.agent == "" { // in the session, by the command's agent
			if u := ms[0].Info; u.Agent != "explore" || ms[1].Info.Agent != "explore" {
				t.Errorf("%s: %+v", c.command, ms)
			}
			continue
		}
		if ms[0].Info.Summary != nil { // no event has it
			t.Errorf("%s: the summary is %v", c.command, ms[0].Info.Summary)
		}
		p, call, next := ms[0].Parts[0], ms[1].Parts, ms[2].Parts[0]
		if ms[0].Info.Agent != "build" || p.Type != "subtask" || p.Agent != c.agent || p.Prompt != c.prompt ||
			p.Command != c.command || p.Model.ModelID != "main" {
			t.Errorf("%s: %+v", c.command, ms[0])
		}
		if len(call) != 1 || call[0].Tool != "task" || call[0].State.Status != "completed" ||
			!strings.Contains(call[0].State.Output, "Hello.") || ms[1].Info.Agent != c.agent ||
			ms[1].Info.Finish != "tool-calls" {
			t.Errorf("%s: %+v", c.command, ms[1])
		}
		if ms[2].Info.Role != "user" || !next.Synthetic || ms[3].Info.ParentID != ms[2].Info.ID {
			t.Errorf("%s: %+v", c.command, ms[2:])
		}
		children := w.ask(t, http.MethodGet, "/session/"+id+"/children", "").body
		if !strings.Contains(children, `"id":"`+call[0].State.Metadata.SessionID+`"`) {
			t.Errorf("%s: children %s, call %+v", c.command, children, call[0])
		}
	}
}
