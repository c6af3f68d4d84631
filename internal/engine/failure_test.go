package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/storetest"
)

// A recorded failure has only text that is meant for people, and only a provider's error counts as the provider's.
func TestFailureFrom(t *testing.T) {
	secret := errors.New("open /home/me/.secret: permission denied")
	for _, c := range []struct {
		name   string
		err    error
		reason session.Reason
		says   string
	}{
		{"the provider's", &llm.Error{Class: llm.Quota, Message: "no money left"}, session.ReasonQuota, "no money left"},
		{
			"the provider's, wrapped", fmt.Errorf("x: %w", &llm.Error{Class: llm.Timeout, Message: "slow"}), session.ReasonAPI,
			"slow",
		},
		{
			"a session error", session.Errorf(
				session.CodeInvalid, "cairn.json line 3",
			).Because(secret), session.ReasonUnavailable,
			"cairn.json line 3",
		},
		{
			"an internal session error", session.Errorf(session.CodeInternal, "secret").Because(secret), session.ReasonInternal,
			"the log has the details",
		},
		{
			"the store's", fmt.Errorf("%w: secret: disk full", store.ErrUnavailable), session.ReasonStore,
			"could not be read or written",
		},
		{"damage", &store.Damage{SessionID: "ses_a", Detail: "secret"}, session.ReasonStore, "is damaged"},
		{"another error", secret, session.ReasonInternal, "the log has the details"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := failureFrom(c.err)
			if f.Reason != c.reason || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "secret") {
				t.Errorf("recorded as %s: %s", f.Reason, f.Message)
			}
		})
	}
}

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
			t.Context(), command.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		if _, err := w.engine.Commands.AdmitPrompt(
			t.Context(), command.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}},
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
