package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// A commit that fails while the model answers is recorded as the store's failure, and the request is not repeated.
func TestStoreFailsDuringTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		m := &spoken{}
		w.models["test/one"].Client = m
		w.wrap = func(s store.Store) store.Store {
			return storetest.NewFailing(s, func(n int) error {
				if n == 4 { // after session, prompt and promotion
					return storetest.ErrBefore
				}
				return nil
			})
		}
		w.start()
		if _, err := w.engine.Commands.CreateSession(
			t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		if _, err := w.engine.Commands.AdmitPrompt(
			t.Context(), admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}},
		); err != nil {
			t.Fatal("admit the prompt:", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		w.close(t)
		rows := allEvents(t, w.store)
		last := rows[len(rows)-1]
		d, err := session.DecodeData(last.Kind, last.Version, last.Data)
		f, ok := d.(*session.StepFailed)
		if err != nil || !ok || f.Error.Reason != session.ReasonStore || strings.Contains(
			f.Error.Message, "failing",
		) || m.n != 1 {
			t.Errorf("after %d requests: %+v, %v", m.n, d, err)
		}
	})
}
