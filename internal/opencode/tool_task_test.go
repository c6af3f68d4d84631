package opencode

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestRunningTask: a running call of task names the session of its work, so that a client that joins can open it.
func TestRunningTask(t *testing.T) {
	begun := string(session.TaskID("prt_x"))
	for input, want := range map[string]string{
		`{"description":"find it"}`:                   `{"parentSessionId":"ses_a","sessionId":"` + begun + `"}`,
		`{"description":"find it","task_id":"ses_b"}`: `{"parentSessionId":"ses_a","sessionId":"ses_b"}`,
	} {
		p, _ := toolPart(Head{ID: "prt_x", SessionID: "ses_a"}, &session.Tool{
			Name: "task", State: session.ToolState{Status: session.ToolRunning, Input: jsontext.Value(input)},
		}).(*ToolPart)
		r, ok := p.State.(*ToolRunning)
		if !ok || string(r.Metadata) != want || r.Title != "find it" {
			t.Errorf("%s: got %+v", input, p.State)
		}
	}
}
