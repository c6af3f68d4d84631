package engine

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// An approval that is saved after the record of the project was forgotten belongs to the next record of the directory, and
// not to one that does not exist, where it would hold nowhere.
func TestApprovalAfterForgottenRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "c1", "name": "edit", "arguments": {"path": "a", "token": "t1"}}}]},
			{"repeat": true, "steps": [{"text": "ok"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		update := func(do func(store.Tx) error) {
			if err := w.store.Update(t.Context(), store.Durable, do); err != nil {
				t.Fatal(err)
			}
		}
		// A call waits in the project.
		update(func(tx store.Tx) error { return tx.PutProject(store.Project{ID: "prj_test", Path: "/w"}) })
		if _, err := w.engine.Commands.CreateSession(t.Context(),
			admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
			admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// The record is forgotten, and the directory gets another one.
		update(func(tx store.Tx) error {
			_, err := tx.DeleteProject("prj_test", "")
			return errors.Join(err, tx.PutProject(store.Project{ID: "prj_next", Path: "/w"}))
		})
		w.record = "prj_next"
		asks, err := w.engine.Asks.List(t.Context(), "ses_a")
		if err != nil || len(asks) != 1 {
			t.Fatal(asks, err)
		}
		if err := w.engine.Asks.Reply(t.Context(), "ses_a", asks[0].ID, ask.UserReply{Reply: session.ReplyAlways}); err != nil {
			t.Fatal(err)
		}
		saved, err := store.Query(t.Context(), w.store, func(r store.Reader) ([]store.Approval, error) { return r.Approvals("") })
		if err != nil || len(saved) != 1 || saved[0].RecordID != "prj_next" {
			t.Errorf("saved: %v, %v", saved, err)
		}
		synctest.Wait()
		w.close(t)
		prove(t, w)
	})
}
