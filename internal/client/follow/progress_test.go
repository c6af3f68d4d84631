package follow_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// A question that waited before the work was followed has no call; its refusal is counted by none.
func TestQuestionWithoutCall(t *testing.T) {
	p := follow.NewProgress("msg_a", 0)
	p.ApplyAsk(&session.PermissionAsked{Ask: session.PendingAsk{
		ID: "per_a", Action: "question", Questions: []session.Question{{}},
	}})
	p.ApplyAsk(&session.PermissionReplied{AskID: "per_a", Reply: session.ReplyReject, By: "cascade", Message: "no"})
	if len(p.Denials) > 0 {
		t.Errorf("%+v", p.Denials)
	}
}
