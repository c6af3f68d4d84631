package opencode

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestPromptKeepsItsSelection checks that a prompt that names no agent or model, as those of subagents and of V2, shows
// those of its answer, and not what the session selected later.
func TestPromptKeepsItsSelection(t *testing.T) {
	first := session.ModelRef{ID: "first", ProviderID: "mock"}
	later := session.ModelRef{ID: "later", ProviderID: "mock"}
	s := &session.Session{ID: "ses_1", Agent: "build", Model: &later}
	asked := session.Head{ID: "msg_1"}
	answer := func(prompt session.MessageID) *session.Assistant {
		return &session.Assistant{Head: session.Head{ID: "msg_9"}, ParentID: prompt, Agent: "general", Model: first}
	}
	for name, tt := range map[string]struct {
		asked  session.Message
		answer *session.Assistant
		want   string
	}{
		"open":       {&session.User{Head: asked}, answer("msg_1"), "general first"},
		"agent":      {&session.User{Head: asked, Agent: "plan"}, answer("msg_1"), "plan first"},
		"model":      {&session.User{Head: asked, Model: &later}, answer("msg_1"), "general later"},
		"unanswered": {&session.User{Head: asked}, answer("msg_2"), "build later"},
		"synthetic":  {&session.Synthetic{Head: asked}, answer("msg_1"), "general first"},
	} {
		u := Render(s, []session.Message{tt.asked, tt.answer}, false)[0].Info.(*User)
		if got := u.Agent + " " + u.Model.ModelID; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
