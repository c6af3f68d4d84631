package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// An external ask that names a running call does not make a restart run that call again.
func TestExternalAskRunsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "c1", "name": "write", "arguments": {"token": "t1", "for": "1h"}}}]},
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
		var source session.AskSource
		for _, row := range allEvents(t, w.store) {
			d, err := session.DecodeData(row.Kind, row.Version, row.Data)
			if c, ok := d.(*session.ToolCalled); ok && err == nil {
				source = session.AskSource{
					Type:      "tool",
					MessageID: c.AssistantMessageID,
					CallID:    c.CallID,
					PartID:    c.PartID,
				}
			}
		}
		ask := session.PendingAsk{Action: "edit", Resources: []string{"x"}, Source: &source}
		if effect, _, err := w.engine.Asks.AskExternally(t.Context(), "ses_a", ask); err != nil ||
			effect != session.Ask {
			t.Fatal(effect, err)
		}
		w.kill(false)
		if _, err := w.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if answerOf(t, w, "ses_a") == "" {
			t.Error("the session does not continue")
		}
		w.close(t)
		if err := w.doubled(); err != nil {
			t.Error(err)
		}
		prove(t, w)
	})
}

// A session that only waits for replies can be left to the next process. From a reply on it cannot, until the call
// that asked has ended, even while another call still waits.
func TestIsAwaitingReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "c1", "name": "edit", "arguments": {"token": "t1", "path": "a", "for": "1m"}}},
				{"call": {"id": "c2", "name": "edit", "arguments": {"token": "t2", "path": "b"}}}]},
			{"repeat": true, "steps": [{"text": "ok"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		if _, err := w.engine.Commands.CreateSession(t.Context(),
			admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		check := func(when string, want bool) {
			t.Helper()
			if got := w.engine.IsAwaitingReplies("ses_a"); got != want {
				t.Errorf("%s: IsAwaitingReplies is %v", when, got)
			}
		}
		check("idle", false)
		if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
			admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		check("both wait", true)
		asks, err := w.engine.Asks.List(t.Context(), "ses_a")
		if err != nil || len(asks) != 2 {
			t.Fatal(asks, err)
		}
		reply := func(path string) {
			i := slices.IndexFunc(asks, func(a *store.AskRow) bool { return a.Resources[0] == path })
			once := ask.UserReply{Reply: session.ReplyOnce}
			if err := w.engine.Asks.Reply(t.Context(), "ses_a", asks[i].ID, once); err != nil {
				t.Fatal(err)
			}
		}
		reply("a")
		check("one is answered", false)
		time.Sleep(10 * time.Second)
		check("one runs", false)
		time.Sleep(10 * time.Minute)
		check("one is done", true)
		reply("b")
		check("the last is answered", false)
		synctest.Wait()
		w.close(t)
		prove(t, w)
	})
}

// jostled is a store in which another writer changes the epoch first, once.
type jostled struct {
	store.Store
	armed bool
}

type jostledTx struct {
	store.Tx
	s *jostled
}

func (s *jostled) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	return s.Store.Update(ctx, d, func(tx store.Tx) error { return f(jostledTx{tx, s}) })
}

func (t jostledTx) PutEpoch(id session.ID, e *store.Epoch) error {
	if t.s.armed {
		t.s.armed = false
		return projection.ErrEpoch
	}
	return t.Tx.PutEpoch(id, e)
}

// A boundary that is repeated because the epoch changed promotes only once.
func TestBoundaryPromotesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			t,
			script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}}},
		)
		s := &jostled{Store: w.store}
		w.wrap = func(store.Store) store.Store { return s }
		w.sources = []*source{{key: "core/x", value: "1"}}
		w.start()
		if _, err := w.engine.Commands.CreateSession(t.Context(),
			admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		prompt := func(text string, hold bool) {
			p := admit.PromptRequest{
				SessionID: "ses_a",
				Prompt:    session.Prompt{Text: text},
				Delivery:  session.Queue,
				Hold:      hold,
			}
			if _, err := w.engine.Commands.AdmitPrompt(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		prompt("one", false)
		w.sources[0].value = "2"
		prompt("two", true)
		s.armed = true
		prompt("three", false)
		if got := len(w.player.ListRequests()); got != 3 || s.armed {
			t.Errorf("three prompts of the queue were answered by %d turns", got)
		}
		w.close(t)
		prove(t, w)
	})
}
