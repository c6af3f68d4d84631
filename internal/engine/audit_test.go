package engine

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// Replies, rules, budgets and prompts whose asks are allowed are in the audit log with their caller; other prompts are
// not. A reply that cannot be recorded is refused and has no effect.
func TestApprovalsAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "c1", "name": "edit", "arguments": {"path": "a", "token": "t1"}}}]},
			{"repeat": true, "steps": [{"text": "ok"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		data := t.TempDir()
		trail := audit.New(data)
		w.engine.journal.Audit = trail
		token := caller.Caller{Kind: caller.KindToken, Token: "1f", Role: caller.Approve}
		ctx := caller.NewContext(t.Context(), token)
		if _, err := w.engine.Commands.CreateSession(ctx, admit.CreateRequest{
			ID: "ses_a", Location: session.Location{Directory: "/w"},
		}); err != nil {
			t.Fatal(err)
		}
		prompt := admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}}
		if _, err := w.engine.Commands.AdmitPrompt(ctx, prompt); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := w.engine.Commands.ForkSession(ctx, "ses_a", admit.CopyEnd{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(trail.Directory()); err == nil {
			t.Error("a prompt or a fork without an approval wrote to the audit log")
		}
		asks, err := w.engine.Asks.List(ctx, "ses_a")
		if err != nil || len(asks) != 1 {
			t.Fatal(asks, err)
		}

		if err := os.WriteFile(trail.Directory(), nil, 0o600); err != nil { // no directory can be made
			t.Fatal(err)
		}
		err = w.engine.Asks.Reply(ctx, "ses_a", asks[0].ID, ask.UserReply{Reply: session.ReplyOnce})
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeUnavailable {
			t.Error("a reply that cannot be recorded:", err)
		}
		synctest.Wait()
		if len(w.effects) != 0 {
			t.Error("the call has run")
		}
		if err := os.Remove(trail.Directory()); err != nil {
			t.Fatal(err)
		}

		if err := w.engine.Asks.Reply(ctx, "ses_a", asks[0].ID, ask.UserReply{Reply: session.ReplyAlways}); err != nil {
			t.Fatal(err)
		}
		rules := []session.Rule{{Action: "bash", Resource: "ls", Effect: session.Allow}}
		if err := w.engine.Commands.ChangeSession(ctx, "ses_a", admit.SessionChange{Permission: &rules}); err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Commands.SetBudget(ctx, "ses_a", nil); err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Asks.RevokeApproval(ctx, "psv_x"); err == nil {
			t.Error("an unknown approval is revoked")
		}
		// The world has no shell; the entry comes first.
		_, _ = w.engine.Commands.RunShell(ctx, admit.ShellRequest{SessionID: "ses_a", Command: "rm -r x"})
		if _, err := w.engine.Commands.ForkSession(ctx, "ses_a", admit.CopyEnd{}); err != nil {
			t.Fatal(err)
		}
		prompt.Asks = "allow"
		if _, err := w.engine.Commands.AdmitPrompt(ctx, prompt); err != nil {
			t.Fatal(err)
		}
		r, err := trail.Read(ctx)
		if err != nil || r.Problem != "" {
			t.Fatal(r.Problem, err)
		}
		want := []string{
			"approval always (project) to " + string(asks[0].ID) + " of ses_a: edit a",
			"rules rules of ses_a: allow bash ls",
			"rules budget of ses_a", "rules revoke the approval psv_x",
			"approval shell command of ses_a: rm -r x",
			"rules rules and approvals of ses_a for its fork", "approval all asks of the prompt ",
		}
		if len(r.Entries) != len(want) {
			t.Fatalf("%+v", r.Entries)
		}
		for i, e := range r.Entries {
			if !strings.HasPrefix(string(e.Kind)+" "+e.What, want[i]) || e.Who != "approve token 1f" {
				t.Errorf("%+v, want %s", e, want[i])
			}
		}
		if _, err := w.engine.Commands.CreateSession(ctx, admit.CreateRequest{
			ID: "ses_b", Location: session.Location{Directory: "/w"}, Sandbox: session.SandboxOff, Permission: rules,
		}); err != nil {
			t.Fatal(err)
		}
		r, err = trail.Read(ctx)
		if n := len(want); err != nil || len(r.Entries) != n+2 || r.Entries[n].What != "no sandbox for ses_b" ||
			r.Entries[n+1].What != "rules of ses_b: allow bash ls" {
			t.Errorf("%+v, %v", r.Entries, err)
		}
		time.Sleep(time.Hour) // the work ends
	})
}
