package engine

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// requestLog keeps the requests of a model that answers each with a text.
type requestLog struct{ requests []*llm.Request }

func (m *requestLog) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	m.requests = append(m.requests, req)
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.TextStart{ID: "t"}, nil) && yield(llm.TextDelta{ID: "t", Delta: "## Goal\n- done"}, nil) &&
			yield(llm.TextEnd{ID: "t"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
	}
}

func newestSeq(t *testing.T, w *world) (seq int64) {
	t.Helper()
	if err := w.store.View(t.Context(), func(r store.Reader) error {
		rows, err := r.Events("ses_a", -1, 0)
		if len(rows) > 0 {
			seq = rows[len(rows)-1].Seq
		}
		return err
	}); err != nil {
		t.Fatal("read the events:", err)
	}
	return seq
}

// The request that BuildNextRequest returns is the one that the next turn sends, and what it would record of it is what
// the turn records. Building it changes nothing.
func TestNextRequestIsTheOneSent(t *testing.T) {
	steer := func(texts ...string) (rs []admit.PromptRequest) {
		for _, text := range texts {
			rs = append(rs, admit.PromptRequest{Prompt: session.Prompt{Text: text}})
		}
		return rs
	}
	steps := []struct {
		name    string
		before  func(t *testing.T, w *world)
		prompts []admit.PromptRequest
		byToken bool
	}{
		{name: "first turn", prompts: steer("a")},
		{name: "conversation", prompts: steer("b")},
		{name: "more steers than are promoted together", prompts: steer("c", "d", "e")},
		{name: "queued", prompts: []admit.PromptRequest{
			{Delivery: session.Queue, Prompt: session.Prompt{Text: "f"}},
			{Delivery: session.Queue, Prompt: session.Prompt{Text: "g", Agent: "plan"}},
		}},
		{name: "changed source", prompts: steer("h"), before: func(_ *testing.T, w *world) {
			w.sources[0].value = "tuesday"
		}},
		{name: "source that is gone", prompts: steer("i"), before: func(_ *testing.T, w *world) {
			w.sources[0].gone = true
		}},
		{name: "another agent and model", prompts: []admit.PromptRequest{{Prompt: session.Prompt{
			Text: "j", Agent: "plan", Model: &session.ModelRef{ProviderID: "test", ID: "two"},
		}}}},
		{name: "last step", prompts: steer("k"), before: func(_ *testing.T, w *world) {
			a := w.agents["plan"]
			a.Steps = 1
			w.agents["plan"] = a
		}},
		{name: "policy", prompts: []admit.PromptRequest{{Prompt: session.Prompt{Text: "l", Agent: "build"}, Asks: "deny"}}},
		{name: "restricted", byToken: true, prompts: steer("m")},
		{name: "compaction", prompts: steer("n"), before: func(t *testing.T, w *world) {
			t.Helper()
			a := admit.CompactionAdmission{SessionID: "ses_a"}
			if _, err := w.engine.Commands.AdmitCompaction(t.Context(), a); err != nil {
				t.Fatal("request a compaction:", err)
			}
			synctest.Wait()
		}},
		{name: "the history as it is"},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newOpenWorld(t, "")
		defer w.close(t)
		m := &requestLog{}
		w.engine.limits.SteerBatch = 2
		w.models["test/one"].Client, w.models["test/two"].Client = m, m
		w.agents["plan"] = session.Agent{ID: "plan", Mode: session.ModePrimary, System: "You plan."}
		w.sources = []*source{{key: "core/date", value: "monday"}, {key: "core/place", value: "here"}}
		for _, step := range steps {
			if step.before != nil {
				step.before(t, w)
			}
			for _, r := range step.prompts {
				r.Hold = true
				by := t.Context()
				if step.byToken {
					by = asPrompter(t)
				}
				w.admit(by, t, r)
			}
			seq, asked := newestSeq(t, w), len(m.requests)
			shown, release, err := w.engine.BuildNextRequest(t.Context(), "ses_a")
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			release()
			if len(m.requests) != asked || newestSeq(t, w) != seq {
				t.Errorf("%s: the preview asked the model or stored something", step.name)
			}
			if err := w.engine.Resume(t.Context(), "ses_a"); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if diff := cmp.Diff(m.requests[asked], shown.Built); diff != "" {
				t.Errorf("%s: shown instead of sent:\n%s", step.name, diff)
			}
			turns := turnsOf(t, w)
			for len(turns) > 0 && turns[0].Seq <= seq {
				turns = turns[1:]
			}
			recorded := *turns[0].Prefix
			if recorded.Changed != "" && shown.Record.Changed != "" { // the drain remembers the last request, and is more exact
				recorded.Changed = shown.Record.Changed
			}
			if diff := cmp.Diff(&recorded, shown.Record); diff != "" {
				t.Errorf("%s: shown instead of recorded:\n%s", step.name, diff)
			}
		}
	})
}
