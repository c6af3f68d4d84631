package engine

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// readCounts are transactions, and reads of the session row within them.
type readCounts struct {
	Views, Updates, SessionsInViews, SessionsInUpdates int
}

// countingStore counts what a process reads.
type countingStore struct {
	store.Store
	counts readCounts
}

func (s *countingStore) View(ctx context.Context, f func(store.Reader) error) error {
	s.counts.Views++
	return s.Store.View(ctx, func(r store.Reader) error { return f(sessionReads{r, &s.counts.SessionsInViews}) })
}

func (s *countingStore) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	s.counts.Updates++
	return s.Store.Update(ctx, d, func(tx store.Tx) error { return f(sessionTxReads{tx, &s.counts.SessionsInUpdates}) })
}

type sessionReads struct {
	store.Reader
	n *int
}

func (r sessionReads) Session(id session.ID) (*session.Session, bool, error) {
	*r.n++
	return r.Reader.Session(id)
}

type sessionTxReads struct {
	store.Tx
	n *int
}

func (r sessionTxReads) Session(id session.ID) (*session.Session, bool, error) {
	*r.n++
	return r.Tx.Session(id)
}

// A prompt that is answered in two turns with one call between them reads the session in few transactions. The bounds
// may fall only.
func TestReadsOfOnePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "c1", "name": "echo", "arguments": {"text": "x"}}}]},
			{"steps": [{"text": "Done."}]}
		]}`))
		if err != nil {
			t.Fatal("parse the script:", err)
		}
		w := newWorld(t, s)
		defer w.close(t)
		c := &countingStore{}
		w.wrap = func(s store.Store) store.Store {
			c.Store = s
			return c
		}
		w.start()
		create(t, w)
		c.counts = readCounts{}
		prompt := session.Prompt{Text: "go"}
		if _, err := w.engine.Commands.AdmitPrompt(
			t.Context(), admit.PromptRequest{SessionID: "ses_a", Prompt: prompt},
		); err != nil {
			t.Fatal("prompt:", err)
		}
		synctest.Wait()
		got := c.counts
		if answerOf(t, w, "ses_a") == "" {
			t.Fatal("the prompt has no answer")
		}
		// One of the views is that of the location whose extensions see the prompt.
		limit := readCounts{Views: 6, Updates: 6, SessionsInViews: 4, SessionsInUpdates: 1}
		if got.Views > limit.Views || got.Updates > limit.Updates || got.SessionsInViews > limit.SessionsInViews ||
			got.SessionsInUpdates > limit.SessionsInUpdates {
			t.Errorf("reads of one prompt: %+v, at most %+v", got, limit)
		}
	})
}
