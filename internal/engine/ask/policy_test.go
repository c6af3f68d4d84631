package ask

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestParsePolicy(t *testing.T) {
	for in, want := range map[session.AskPolicy]Policy{
		"":         {},
		"deny":     {Kind: PolicyDeny},
		"allow":    {Kind: PolicyAllow},
		"fail":     {Kind: PolicyFail},
		"wait:30s": {PolicyWait, 30 * time.Second},
		"wait:30":  {PolicyWait, 30 * time.Second},
	} {
		if got, err := ParsePolicy(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []session.AskPolicy{"wait", "wait:", "wait:0s", "wait:-1", "unattended", "Deny"} {
		if got, err := ParsePolicy(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}

// TestPolicyEdits: the policy edits allows changes of files, but not those that only a person may allow; people reply to
// everything else, to budgets and to questions as well.
func TestPolicyEdits(t *testing.T) {
	p, err := ParsePolicy("edits")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ask  session.PendingAsk
		want session.Reply
	}{
		{session.PendingAsk{Action: "edit"}, session.ReplyOnce},
		{session.PendingAsk{Action: "edit", Resources: []string{"a.go", "docs/b.md"}}, session.ReplyOnce},
		{session.PendingAsk{Action: "edit", Resources: []string{"a.go", ".git/hooks/pre-commit"}}, ""},
		{session.PendingAsk{Action: "edit", Resources: []string{"cairn.json"}}, ""},
		{session.PendingAsk{Action: "edit", Firm: true}, ""},
		{session.PendingAsk{Action: "bash"}, ""},
		{session.PendingAsk{Action: "external_directory"}, ""},
		{session.PendingAsk{Action: "doom_loop"}, ""},
	} {
		if got, _ := p.reply(c.ask); got != c.want {
			t.Errorf("%+v: %q, want %q", c.ask, got, c.want)
		}
	}
	for name, other := range map[string]Policy{"budget": p.forBudget(), "question": p.forQuestion(), "engine": p.forEngine()} {
		if got, _ := other.reply(session.PendingAsk{Action: name}); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
