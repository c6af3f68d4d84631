package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/task"
)

// asPrompter returns a context of a caller with the scope prompt.
func asPrompter(t *testing.T) context.Context {
	t.Helper()
	return caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Token: "1f", Role: caller.Prompt})
}

// newOpenWorld returns a world with the open session ses_a, whose rules allow edits as well. The model edits a file
// with the token t1 for each prompt that contains "edit", and then says "ok".
func newOpenWorld(t *testing.T, turns string) *world {
	t.Helper()
	s, err := script.Parse([]byte(`{"turns": [` + turns + `{"repeat": true, "steps": [{"text": "ok"}]}]}`))
	if err != nil {
		t.Fatal("parse the script:", err)
	}
	w := newWorld(t, s)
	if _, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
		ID: "ses_a", Location: session.Location{Directory: "/w"}, Open: true,
		Permission: []session.Rule{{Action: "edit", Resource: "*", Effect: session.Allow}},
	}); err != nil {
		t.Fatal("create the session:", err)
	}
	return w
}

const editTurn = `{"steps": [{"call": {"id": "c", "name": "edit", "arguments": {"path": "a", "token": "t1"}}}]},`

func (w *world) admit(ctx context.Context, t *testing.T, r admit.PromptRequest) session.MessageID {
	t.Helper()
	if r.SessionID == "" {
		r.SessionID = "ses_a"
	}
	if r.Prompt.Text == "" {
		r.Prompt.Text = "edit"
	}
	in, err := w.engine.Commands.AdmitPrompt(ctx, r)
	if err != nil {
		t.Fatal("prompt the session:", err)
	}
	return in.ID
}

// asksOf returns the pending asks of all sessions.
func asksOf(t *testing.T, w *world) []*store.AskRow {
	t.Helper()
	asks, err := w.engine.Asks.List(t.Context(), "")
	if err != nil {
		t.Fatal("list the asks:", err)
	}
	return asks
}

// A prompt of a caller who may not approve runs nothing in an open session without an ask, whatever allows it there:
// its openness, its rules, its approvals, a policy. A person's prompt does, and a person's reply decides as usual.
func TestRestrictedPromptsAsk(t *testing.T) {
	for name, c := range map[string]struct {
		by     func(*testing.T, *world) // prompts the session
		isFree bool                     // it edits without an ask
	}{
		"a person": {func(t *testing.T, w *world) { w.admit(t.Context(), t, admit.PromptRequest{}) }, true},
		"a token":  {func(t *testing.T, w *world) { w.admit(asPrompter(t), t, admit.PromptRequest{}) }, false},
		"a token beside a person": {func(t *testing.T, w *world) {
			w.admit(t.Context(), t, admit.PromptRequest{Hold: true, Asks: "allow"})
			w.admit(asPrompter(t), t, admit.PromptRequest{Hold: true})
			w.admit(t.Context(), t, admit.PromptRequest{Asks: "allow"})
		}, false},
		"a token edits a person's prompt": {func(t *testing.T, w *world) {
			m := w.admit(t.Context(), t, admit.PromptRequest{Prompt: session.Prompt{Text: "look"}, Hold: true})
			change := admit.PromptChange{Prompt: &session.Prompt{Text: "edit"}}
			if err := w.engine.Commands.ChangePrompt(asPrompter(t), "ses_a", m, change); err != nil {
				t.Fatal("edit the prompt:", err)
			}
			w.admit(t.Context(), t, admit.PromptRequest{})
		}, false},
		"a token compacts": {func(t *testing.T, w *world) {
			w.admit(t.Context(), t, admit.PromptRequest{Prompt: session.Prompt{Text: "look"}})
			synctest.Wait()
			if _, err := w.engine.Commands.AdmitCompaction(asPrompter(t), admit.CompactionAdmission{
				SessionID: "ses_a", Request: session.CompactionRequest{Proceed: true},
			}); err != nil {
				t.Fatal("request a compaction:", err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newOpenWorld(t, `{"match": "look", "steps": [{"text": "ok"}]}, {"match": "Write notes", "repeat": true,
					"steps": [{"text": "## Goal\n- x"}]},`+editTurn)
				defer w.close(t)
				c.by(t, w)
				synctest.Wait()
				asks := asksOf(t, w)
				if ran := w.effects["t1"] > 0; ran != c.isFree || len(asks) > 0 == c.isFree {
					t.Fatalf("it ran: %v; asks: %v", ran, asks)
				}
				for _, a := range asks {
					once := ask.UserReply{Reply: session.ReplyOnce}
					if err := w.engine.Asks.Reply(t.Context(), "ses_a", a.ID, once); err != nil {
						t.Fatal("reply:", err)
					}
				}
				if synctest.Wait(); w.effects["t1"] != 1 {
					t.Error("a person's reply has no effect")
				}
			})
		})
	}
}

// Restricted work stays restricted until the session is idle, also for a person's prompts in between and after a crash.
// Then the session is as before.
func TestRestrictedUntilIdle(t *testing.T) {
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newOpenWorld(t, `{"steps": [{"delay": "1s"}, {"text": "one"}]},`+editTurn+
				`{"steps": [{"text": "two"}]},`+editTurn)
			w.admit(asPrompter(t), t, admit.PromptRequest{Prompt: session.Prompt{Text: "look"}})
			synctest.Wait()
			w.admit(t.Context(), t, admit.PromptRequest{Delivery: session.Queue, Asks: "allow"})
			time.Sleep(time.Minute) // of the bubble
			synctest.Wait()
			if crash {
				w.kill(true)
				if _, err := w.engine.Recover(t.Context()); err != nil {
					t.Fatal("recover:", err)
				}
				synctest.Wait()
			}
			defer w.close(t)
			asks := asksOf(t, w)
			if len(asks) != 1 || w.effects["t1"] != 0 {
				t.Fatalf("crash %v: the person's prompt in the same work has %d asks and %d effects",
					crash, len(asks), w.effects["t1"])
			}
			err := w.engine.Asks.Reply(t.Context(), "ses_a", asks[0].ID, ask.UserReply{Reply: session.ReplyOnce})
			if err != nil {
				t.Fatal("reply:", err)
			}
			synctest.Wait()
			w.admit(t.Context(), t, admit.PromptRequest{})
			if synctest.Wait(); w.effects["t1"] != 2 || len(asksOf(t, w)) != 0 {
				t.Errorf("crash %v: after that the session asks: %d effects, %v", crash, w.effects["t1"], asksOf(t, w))
			}
		})
	}
}

// The turn of a restricted prompt that was cut off before the model answered is restricted in the next process as well.
func TestRestrictedTurnIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newOpenWorld(t, `{"steps": [{"delay": "1h"}]},`+editTurn)
		w.admit(asPrompter(t), t, admit.PromptRequest{})
		synctest.Wait()
		w.kill(true)
		if _, err := w.engine.Recover(t.Context()); err != nil {
			t.Fatal("recover:", err)
		}
		defer w.close(t)
		time.Sleep(time.Minute) // of the bubble
		if synctest.Wait(); len(asksOf(t, w)) != 1 || w.effects["t1"] != 0 {
			t.Errorf("%d asks, %d effects", len(asksOf(t, w)), w.effects["t1"])
		}
	})
}

// The work of a subagent that restricted work calls is restricted, in the foreground and in the background, and so is
// the work on its report.
func TestRestrictedTasks(t *testing.T) {
	for _, background := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newOpenWorld(t, fmt.Sprintf(`{"match": "all", "steps": [{"call": {"id": "t", "name": "task", "arguments":
				{"description": "part", "prompt": "work", "subagent_type": "helper", "background": %t}}}]},
				{"match": "work", "steps": [{"call": {"id": "e", "name": "edit",
				"arguments": {"path": "a", "token": "t1"}}}]},`, background))
			w.limits.TaskTime = time.Hour
			w.start()
			defer w.close(t)
			w.agents["helper"] = session.Agent{ID: "helper", Mode: session.ModeSubagent}
			if _, err := w.tools.Register(task.New([]session.Agent{w.agents["helper"]})...); err != nil {
				t.Fatal("register the tool:", err)
			}
			w.admit(asPrompter(t), t, admit.PromptRequest{Prompt: session.Prompt{Text: "all"}})
			synctest.Wait()
			asks := asksOf(t, w)
			if len(asks) != 1 || asks[0].SessionID == "ses_a" || w.effects["t1"] != 0 {
				t.Fatalf("background %v: asks %v, %d effects", background, asks, w.effects["t1"])
			}
			err := w.engine.Asks.Reply(t.Context(), asks[0].SessionID, asks[0].ID, ask.UserReply{Reply: session.ReplyOnce})
			if err != nil {
				t.Fatal("reply:", err)
			}
			synctest.Wait()
			for _, in := range inputsOf(t, w, "ses_a") {
				if !in.Restricted {
					t.Errorf("background %v: %q is not restricted", background, in.Prompt.Text)
				}
			}
		})
	}
}

// inputsOf returns the promoted prompts of the session.
func inputsOf(t *testing.T, w *world, id session.ID) (ins []*session.Input) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		ms, err := store.ReadMessages(r, id, store.MessageQuery{After: -1})
		for _, m := range ms {
			in, ok, err := store.FindInput(r, m.Meta().ID)
			if err != nil {
				return err
			}
			if ok {
				ins = append(ins, in)
			}
		}
		return err
	})
	if err != nil || len(ins) == 0 {
		t.Fatal("read the prompts:", ins, err)
	}
	return ins
}

// A caller who may not approve gets a fork that asks: not open, without rules that allow and without approvals.
func TestRestrictedForksAsk(t *testing.T) {
	for role, isFree := range map[caller.Role]bool{caller.Prompt: false, caller.Approve: true} {
		w := newOpenWorld(t, "")
		deny := session.Rule{Action: "webfetch", Resource: "*", Effect: session.Deny}
		rules := []session.Rule{{Action: "edit", Resource: "*", Effect: session.Allow}, deny}
		if err := w.engine.Commands.ChangeSession(t.Context(), "ses_a",
			admit.SessionChange{Permission: &rules}); err != nil {
			t.Fatal("change the rules:", err)
		}
		approval := store.Approval{
			ID: "psv_1", Action: "bash", Resource: "*", Lifetime: session.LifetimeSession, Holder: "ses_a",
		}
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil {
			t.Fatal("read the session:", err)
		}
		approval.RecordID = s.RecordID
		put := func(tx store.Tx) error { return tx.PutApproval(approval) }
		if err := w.store.Update(t.Context(), store.Durable, put); err != nil {
			t.Fatal("save an approval:", err)
		}
		ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Role: role})
		copied, err := w.engine.Commands.ForkSession(ctx, "ses_a", admit.CopyEnd{})
		if err != nil {
			t.Fatal("fork the session:", err)
		}
		want := 1
		if isFree {
			want = 2
		}
		if copied.Open != isFree || len(copied.Permission) != want {
			t.Errorf("%s: the fork is open: %v, with the rules %v", role, copied.Open, copied.Permission)
		}
		err = w.store.View(t.Context(), func(r store.Reader) error {
			saved, err := r.Approvals("")
			if len(saved) != want {
				t.Errorf("%s: approvals %v", role, saved)
			}
			return err
		})
		if err != nil {
			t.Error("read the approvals:", err)
		}
		w.close(t)
	}
}

// A template of a caller who may not approve runs no line in an open session without an ask.
func TestRestrictedTemplatesAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newOpenWorld(t, "")
		defer w.close(t)
		w.layers[0].Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Ask}}
		q := ask.TemplateRequest{SessionID: "ses_a", Lines: []string{"touch a"}, Policy: "fail"}
		if _, err := w.engine.Asks.AuthorizeTemplate(t.Context(), q); err != nil {
			t.Error("of a person:", err)
		}
		_, err := w.engine.Asks.AuthorizeTemplate(asPrompter(t), q)
		if !errors.Is(err, &session.Error{Code: session.CodeDenied}) {
			t.Error("of a token:", err)
		}
	})
}
