package v2_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
)

// Questions are listed, answered and dismissed apart from permissions, and todos are shown, in the shapes of the
// contract.
func TestQuestionsAndTodos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(`{"turns": [
			{"steps": [{"call": {"id": "t", "name": "todowrite", "arguments": {"todos": [{"content": "a", "status": "pending"}]}}}]},
			{"times": 2, "steps": [{"call": {"id": "q", "name": "question", "arguments": {"questions": [
				{"question": "Which?", "header": "W", "options": [{"label": "Red", "description": "warm"}]}]}}}]},
			{"repeat": true, "steps": [{"text": "ok"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		defer w.close(t)
		if _, err := w.tools.Register(dialog.New()...); err != nil {
			t.Fatal(err)
		}
		ctx, c := t.Context(), w.client
		created, err := c.Create(ctx, api.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Prompt(ctx, created.ID, api.PromptRequest{
			ID:     "msg_1",
			Prompt: &session.Prompt{Text: "ask"},
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		path := "/api/session/" + string(created.ID) + "/todo"
		todos := request[api.Data[[]session.Todo]](t, w, http.MethodGet, path, "").Data
		if !cmp.Equal(todos, []session.Todo{{Content: "a", Status: "pending", Priority: "medium"}}) {
			t.Error(todos)
		}
		first := w.oneQuestion(t, created.ID)
		if err := c.Questions().Answer(ctx, created.ID, first.ID, [][]string{{"a"}, {"b"}}); !errors.Is(
			err,
			&session.Error{Code: session.CodeInvalid},
		) {
			t.Error(err)
		}
		if err := c.Questions().Answer(ctx, created.ID, first.ID, [][]string{{"Red"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := c.Questions().Answer(ctx, created.ID, first.ID, [][]string{{"Red"}}); !errors.Is(
			err,
			&session.Error{Code: session.CodeNotFound, Kind: "question"},
		) {
			t.Error(err)
		}
		second := w.oneQuestion(t, created.ID)
		if err := c.Questions().Reject(ctx, created.ID, second.ID); err != nil || second.ID == first.ID {
			t.Error(second, err)
		}
		synctest.Wait()
		if qs, err := c.Questions().List(ctx, ""); err != nil || len(qs) != 0 {
			t.Error(qs, err)
		}
	})
}

// oneQuestion is the only one that waits; no permission does.
func (w *world) oneQuestion(t *testing.T, id session.ID) session.QuestionAsked {
	t.Helper()
	ctx, c := t.Context(), w.client
	qs, err := c.Questions().List(ctx, "")
	if err != nil || len(qs) != 1 || !strings.HasPrefix(string(qs[0].ID), "que_") {
		t.Fatal(qs, err)
	}
	want := session.QuestionAsked{
		ID: qs[0].ID, SessionID: id, Tool: &session.QuestionTool{MessageID: qs[0].Tool.MessageID, CallID: "q"},
		Questions: []session.Question{
			{Question: "Which?", Header: "W", Options: []session.Option{{Label: "Red", Description: "warm"}}},
		},
	}
	if diff := cmp.Diff(want, qs[0]); diff != "" {
		t.Error(diff)
	}
	if own, err := c.Questions().List(ctx, id); err != nil || !cmp.Equal(own, qs) {
		t.Error(own, err)
	}
	for _, session := range []session.ID{"", id} {
		if asks, err := c.Asks(ctx, session); err != nil || len(asks) != 0 {
			t.Error(asks, err)
		}
	}
	if err := c.Reply(ctx, id, qs[0].ID, api.ReplyRequest{Reply: "always"}); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound},
	) {
		t.Error(err)
	}
	if st, err := c.Status(ctx, id); err != nil || st.Type != "awaiting-answer" {
		t.Error(st, err)
	}
	return qs[0]
}
