package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// longPrompt is enough work for a summary.
var longPrompt = "Fix the parser. " + strings.Repeat("It is broken. ", summaryWork/14)

// summarizing is a world whose sessions have titles and in which model test/small summarises with say.
func summarizing(t *testing.T, say titler) (*world, *[]*llm.Request) {
	t.Helper()
	w, asked := entitling(t, say)
	delete(w.agents, titleAgent)
	w.agents[summaryAgent] = session.Agent{ID: summaryAgent, Hidden: true, System: "You summarise."}
	w.summaries = true
	return w, asked
}

func (w *world) summary(t *testing.T) (text string, generated bool) {
	t.Helper()
	synctest.Wait()
	s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
	if err != nil {
		t.Fatal(err)
	}
	if s.Summary == nil {
		return "", false
	}
	return s.Summary.Text, s.Summary.Generated
}

// After work of some size the small model summarises the session: what is new, with the summary of before. The request
// counts in the session's cost and in the spend.
func TestSummaryAfterWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := summarizing(t, func(_ context.Context, n int) (string, error) {
			return "<think>so</think>\n I fixed " + strings.Repeat("it", n) + ".", nil
		})
		for _, prompt := range []string{longPrompt, "Thanks", "And the lexer. " + longPrompt} {
			w.begin(t, admit.CreateRequest{}, prompt)
			synctest.Wait()
		}
		if text, generated := w.summary(t); text != "I fixed itit." || !generated {
			t.Errorf("%q %v", text, generated)
		}
		if len(*asked) != 2 {
			t.Fatalf("%d requests, want one for each long prompt", len(*asked))
		}
		first, second := questionText(t, (*asked)[0]), questionText(t, (*asked)[1])
		if !strings.Contains(first, "Fix the parser") || strings.Contains(first, "earlier-summary") {
			t.Errorf("the first question: %.300s", first)
		}
		if !strings.Contains(second, "I fixed it.") || !strings.Contains(second, "[user]: Thanks") ||
			!strings.Contains(second, "And the lexer") {
			t.Errorf("the second question: %.300s", second)
		}
		cost, lines := w.spent(t)
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil || lines != 2 || s.Tokens.Input < 80 || s.Cost < cost || cost == 0 {
			t.Errorf("%v %d lines, the session %+v %v", cost, lines, s, err)
		}
		w.close(t)
	})
}

func questionText(t *testing.T, q *llm.Request) string {
	t.Helper()
	text, ok := q.Messages[len(q.Messages)-1].Parts[0].(llm.Text)
	if !ok {
		t.Fatalf("%+v", q.Messages)
	}
	return text.Text
}

// Without the setting, after little work, and of a session whose user wrote the summary, no model is asked.
func TestNoSummary(t *testing.T) {
	own := "My words."
	for name, c := range map[string]struct {
		off    bool
		prompt string
		own    *string
	}{
		"off":         {off: true, prompt: longPrompt},
		"little work": {prompt: "Hello"},
		"of a user":   {prompt: longPrompt, own: &own},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, asked := summarizing(t, func(context.Context, int) (string, error) { return "Words.", nil })
				w.summaries = !c.off
				w.begin(t, admit.CreateRequest{})
				want := ""
				if c.own != nil {
					want = *c.own
					change := admit.SessionChange{Summary: c.own}
					if err := w.engine.Commands.ChangeSession(t.Context(), "ses_a", change); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
					SessionID: "ses_a", Prompt: session.Prompt{Text: c.prompt},
				}); err != nil {
					t.Fatal(err)
				}
				if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
					t.Fatal(err)
				}
				if text, _ := w.summary(t); text != want || len(*asked) != 0 {
					t.Errorf("%q after %d requests", text, len(*asked))
				}
				w.close(t)
			})
		})
	}
}

// A summary is written on demand after little work, too, and not again without new work. What is no summary is refused
// and charged; the summary of before stays.
func TestSummarizeSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []string{"", "", "Done."}
		w, asked := summarizing(t, func(_ context.Context, n int) (string, error) { return answers[n-1], nil })
		w.summaries = false
		w.begin(t, admit.CreateRequest{})
		if s, err := w.engine.SummarizeSession(t.Context(), "ses_a"); s != nil || err != nil || len(*asked) != 0 {
			t.Errorf("without work: %+v %v", s, err)
		}
		w.begin(t, admit.CreateRequest{}, "Fix the parser")
		if s, err := w.engine.SummarizeSession(t.Context(), "ses_a"); s != nil ||
			!errors.Is(err, &session.Error{Code: session.CodeUnavailable}) {
			t.Errorf("empty answers: %+v %v", s, err)
		}
		if _, lines := w.spent(t); lines != 1 || len(*asked) != 2 {
			t.Errorf("empty answers: %d lines of %d requests", lines, len(*asked))
		}
		for range 2 {
			s, err := w.engine.SummarizeSession(t.Context(), "ses_a")
			if err != nil || s == nil || s.Text != "Done." || len(*asked) != 3 {
				t.Errorf("%+v %v after %d requests", s, err, len(*asked))
			}
		}
		w.close(t)
	})
}

// A model that does not answer fails the summary after summaryTimeout, with an error that names both.
func TestSummaryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := summarizing(t, func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		w.summaries = false
		w.begin(t, admit.CreateRequest{}, "Fix the parser")
		s, err := w.engine.SummarizeSession(t.Context(), "ses_a")
		if s != nil || !errors.Is(err, &session.Error{Code: session.CodeUnavailable}) ||
			!strings.Contains(err.Error(), "test/small did not write a summary within 1m0s") {
			t.Errorf("%+v %v", s, err)
		}
		w.close(t)
	})
}

// A session that is deleted while its summary is written has none.
func TestSummaryOfDeletedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		w, _ = summarizing(t, func(ctx context.Context, _ int) (string, error) {
			return "Words.", w.engine.Commands.DeleteSession(context.WithoutCancel(ctx), "ses_a")
		})
		w.summaries = false
		w.begin(t, admit.CreateRequest{}, "Fix the parser")
		s, err := w.engine.SummarizeSession(t.Context(), "ses_a")
		if s != nil || !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("%+v %v", s, err)
		}
		w.close(t)
	})
}

// A session whose budget, or that of a session above, is used up gets no summary, nor one without a small model.
func TestSummaryRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := summarizing(t, func(context.Context, int) (string, error) { return "Words.", nil })
		w.summaries = false
		_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
			ID: "ses_p", Location: session.Location{Directory: "/w"}, Budget: &session.Budget{Tokens: 5},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.begin(t, admit.CreateRequest{ParentID: "ses_p"}, "Fix the parser")
		err = w.engine.journal.AppendFacts(t.Context(), "ses_a",
			&session.Summarized{Request: &session.RequestCost{Tokens: session.Tokens{Input: 5}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.engine.SummarizeSession(t.Context(), "ses_a")
		if err == nil || !strings.Contains(err.Error(), "of the parent session ses_p") || len(*asked) != 0 {
			t.Errorf("%v after %d requests", err, len(*asked))
		}
		w.close(t)
	})
	synctest.Test(t, func(t *testing.T) {
		w, asked := summarizing(t, func(context.Context, int) (string, error) { return "Words.", nil })
		w.summaries = false
		w.begin(t, admit.CreateRequest{Budget: &session.Budget{Tokens: 1}})
		err := w.engine.journal.AppendFacts(t.Context(), "ses_a",
			&session.Summarized{Request: &session.RequestCost{Tokens: session.Tokens{Input: 5}}},
			&session.Prompted{MessageID: "msg_z", Prompt: session.Prompt{Text: "Hello"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"budget", "small_model"} {
			_, err := w.engine.SummarizeSession(t.Context(), "ses_a")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			w.small = nil
			if err := w.engine.Commands.SetBudget(t.Context(), "ses_a", nil); err != nil {
				t.Fatal(err)
			}
		}
		if len(*asked) != 0 {
			t.Errorf("%d requests", len(*asked))
		}
		w.close(t)
	})
}
