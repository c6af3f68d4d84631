package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// Once a limit is reached, earlier asks are not read again at every turn: a long session stays as fast as a
// short one.
func TestGrantsAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ok := []script.Step{{Text: script.Chunks{"ok"}}}
		edit := []script.Step{
			{Call: &script.Call{ID: "c", Name: "edit", Arguments: jsontext.Value(`{"path":"a","token":"t"}`)}},
		}
		w := newWorld(
			t,
			script.Script{Turns: []script.Turn{{Times: 2, Steps: ok}, {Steps: edit}, {Repeat: true, Steps: ok}}},
		)
		read := &counting{}
		w.wrap = func(s store.Store) store.Store { read.Store = s; return read }
		w.start()
		create := admit.CreateRequest{
			ID: "ses_a", Title: "t", Location: session.Location{Directory: "/w"}, Budget: &session.Budget{Tokens: 1 << 40},
		}
		if _, err := w.engine.Commands.CreateSession(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		w.close(t) // it holds the row, which is changed here: the limit is reached from the start
		if err := w.store.Update(t.Context(), store.Durable, func(tx store.Tx) error {
			s, _, err := tx.Session("ses_a")
			if err != nil {
				return err
			}
			s.Tokens.Input = s.Budget.Tokens
			return tx.PutSession(s)
		}); err != nil {
			t.Fatal(err)
		}
		w.start()
		defer w.close(t)
		prompt := func(n int) (asks int) {
			before := read.asks
			p := admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: fmt.Sprint(n)}, Asks: "allow"}
			if _, err := w.engine.Commands.AdmitPrompt(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return read.asks - before
		}
		for n := range 50 {
			row := session.PendingAsk{
				ID:        session.AskID(fmt.Sprintf("per_%d", n)),
				SessionID: "ses_a",
				Action:    ask.ActionBudget,
				Resources: []string{"tokens"},
			}
			err := w.engine.journal.AppendFacts(
				t.Context(),
				"ses_a",
				&session.PermissionAsked{Ask: row},
				&session.PermissionReplied{AskID: row.ID, Reply: session.ReplyOnce, By: "user"},
			)
			if err != nil {
				t.Fatal(err)
			}
		}
		if first, next, call := prompt(1), prompt(2), prompt(3); first < 50 || next > 5 || call > 5 ||
			w.effects["t"] != 1 {
			t.Errorf("%d asks were read at first, then %d, and %d for a call that asks", first, next, call)
		}
	})
}

// counting counts the asks that are read, as rows or as events.
type counting struct {
	store.Store
	asks int
}

func (c *counting) View(ctx context.Context, f func(store.Reader) error) error {
	return c.Store.View(ctx, func(r store.Reader) error { return f(&countingReader{r, c}) })
}

type countingReader struct {
	store.Reader
	c *counting
}

func (r *countingReader) Asks(q store.AskQuery) ([]*store.AskRow, error) {
	rows, err := r.Reader.Asks(q)
	r.c.asks += len(rows)
	return rows, err
}

func (r *countingReader) Events(
	id session.ID,
	after int64,
	limit int,
	kinds ...session.Kind,
) ([]store.EventRow, error) {
	rows, err := r.Reader.Events(id, after, limit, kinds...)
	for _, row := range rows {
		if row.Kind == session.KindPermissionAsked {
			r.c.asks++
		}
	}
	return rows, err
}
