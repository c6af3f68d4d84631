package engine

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A revoked approval allows nothing more, also in a turn that began before: a call that asks after RevokeApproval has
// returned waits for a person.
func TestRevokedApprovalAllowsNothing(t *testing.T) {
	for _, together := range []bool{false, true} { // revoked before the second call asks, and while it does
		synctest.Test(t, func(t *testing.T) {
			s, err := script.Parse([]byte(`{"turns": [
				{"steps": [{"call": {"id": "c1", "name": "edit", "arguments": {"path": "a", "token": "t1"}}},
					{"call": {"id": "c2", "name": "edit", "arguments": {"path": "b", "token": "t2", "for": "1m"}}},
					{"call": {"id": "c3", "name": "edit", "arguments": {"path": "c", "token": "t3", "for": "2m"}}}]},
				{"repeat": true, "steps": [{"text": "ok"}]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, s)
			if _, err := w.engine.Commands.CreateSession(t.Context(),
				admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
				admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			waiting := func() []*store.AskRow {
				asks, err := w.engine.Asks.List(t.Context(), "ses_a")
				if err != nil {
					t.Fatal(err)
				}
				return asks
			}
			always := ask.UserReply{Reply: session.ReplyAlways}
			if err := w.engine.Asks.Reply(t.Context(), "ses_a", waiting()[0].ID, always); err != nil {
				t.Fatal(err)
			}
			var saved []store.Approval
			if err := w.store.View(t.Context(), func(r store.Reader) (err error) {
				saved, err = r.Approvals("")
				return err
			}); err != nil || len(saved) != 1 {
				t.Fatal(saved, err)
			}
			var revoking sync.WaitGroup
			revoking.Go(func() {
				if together {
					time.Sleep(time.Minute)
				}
				if err := w.engine.Asks.RevokeApproval(t.Context(), saved[0].ID); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(3 * time.Minute)
			revoking.Wait()
			if n := len(waiting()); w.effects["t3"] != 0 || !together && (w.effects["t2"] != 0 || n != 2) ||
				together && n != 2-w.effects["t2"] {
				t.Errorf("together %v: the calls had the effects %v and %d wait", together, w.effects, n)
			}
			w.close(t)
			prove(t, w)
		})
	}
}
