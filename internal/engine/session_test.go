package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// An invalid rule or budget is refused in every command, and nothing is written.
func TestInvalidRulesAndBudgets(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	rules, budget := []session.Rule{{Action: "edit", Resource: "*", Effect: "denied"}}, &session.Budget{Turns: -1}
	create := func(r admit.CreateRequest) error {
		r.Location = session.Location{Directory: "/w"}
		_, err := w.engine.Commands.CreateSession(t.Context(), r)
		return err
	}
	if err := create(admit.CreateRequest{ID: "ses_a"}); err != nil {
		t.Fatal(err)
	}
	written := len(allEvents(t, w.store))
	title := "new"
	for field, err := range map[string]error{
		"permission[0].effect": create(admit.CreateRequest{ID: "ses_b", Permission: rules}),
		"budget.turns":         create(admit.CreateRequest{ID: "ses_c", Budget: budget}),
	} {
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Field != field {
			t.Errorf("create: %v", err)
		}
	}
	if err := w.engine.Commands.ChangeSession(t.Context(), "ses_a",
		admit.SessionChange{Title: &title, Permission: &rules}); err == nil {
		t.Error("invalid rules were stored")
	}
	if err := w.engine.Commands.SetBudget(t.Context(), "ses_a", budget); err == nil {
		t.Error("an invalid budget was stored")
	}
	if n := len(allEvents(t, w.store)); n != written {
		t.Errorf("%d events were written", n-written)
	}
}

// A new session has the budget of its location for the limits that its request leaves open; repeating the request
// returns the same session.
func TestBudgetOfNewSessions(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	w.budget = &session.Budget{USD: session.Dollar, Turns: 3}
	at := session.Location{Directory: "/w"}
	for _, tt := range []struct {
		name string
		r    admit.CreateRequest
		want *session.Budget
	}{
		{"no budget", admit.CreateRequest{ID: "ses_a", Location: at}, w.budget},
		{
			"a budget",
			admit.CreateRequest{ID: "ses_b", Location: at, Budget: &session.Budget{Turns: 9, Tokens: 5}},
			&session.Budget{USD: session.Dollar, Turns: 9, Tokens: 5},
		},
		{"a child session", admit.CreateRequest{ID: "ses_c", Location: at, ParentID: "ses_a"}, nil},
	} {
		for range 2 {
			s, err := w.engine.Commands.CreateSession(t.Context(), tt.r)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(tt.want, s.Budget); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
	}
	_, err := w.engine.Commands.CreateSession(
		t.Context(),
		admit.CreateRequest{ID: "ses_a", Location: at, Budget: &session.Budget{Turns: 4}},
	)
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeConflict {
		t.Errorf("with another budget: %v", err)
	}
}

// Invalid UTF-8 is replaced when a prompt is admitted, so that the receipt shows what is stored.
func TestPromptTextIsMadeValid(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	if _, err := w.engine.Commands.CreateSession(t.Context(),
		admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
		t.Fatal(err)
	}
	in, err := w.engine.Commands.AdmitPrompt(
		t.Context(),
		admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "a\xffb"}, Hold: true},
	)
	if err != nil || in.Prompt.Text != "a\uFFFDb" {
		t.Errorf("%+v, %v", in, err)
	}
}

// The spend keeps what a deleted session cost under its id, so the id cannot be used for another session.
func TestWorkedInAndDeleted(t *testing.T) {
	w := newWorld(
		t,
		script.Script{
			Turns: []script.Turn{
				{Repeat: true, Usage: script.Usage{Input: 1}, Steps: []script.Step{{Text: script.Chunks{"Hi."}}}},
			},
		},
	)
	defer w.close(t)
	create := func() error {
		_, err := w.engine.Commands.CreateSession(
			t.Context(),
			admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		)
		return err
	}
	remove := func() {
		t.Helper()
		if err := w.engine.Commands.DeleteSession(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	remove()
	if err := create(); err != nil {
		t.Errorf("create again after an unused session: %v", err)
	}
	if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
		admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hello"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
		t.Fatal(err)
	}
	remove()
	if e, ok := errors.AsType[*session.Error](create()); !ok || e.Code != session.CodeConflict {
		t.Errorf("create again after a used session: %v", e)
	}
}
