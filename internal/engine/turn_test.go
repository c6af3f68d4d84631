package engine

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// spoken is a model with a scripted answer per request; after the last one it answers "ok".
type spoken struct {
	turns [][]llm.Event
	n     int
	panic bool
}

func (m *spoken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	turn := []llm.Event{
		llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "ok"}, llm.TextEnd{ID: "t"}, llm.Finish{Reason: llm.FinishStop},
	}
	if m.n < len(m.turns) {
		turn = m.turns[m.n]
	}
	m.n++
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range turn {
			if !yield(ev, nil) {
				return
			}
		}
		if m.panic {
			panic("the client is broken")
		}
	}
}

// converse prompts a session whose model is m, lets an hour pass, and returns the kinds of the recorded events and the
// failures of its turns.
func converse(t *testing.T, m *spoken, check func(w *world)) (kinds, reasons string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		w.models["test/one"].Client = m
		ctx := t.Context()
		if _, err := w.engine.Commands.CreateSession(
			ctx, admit.CreateRequest{ID: "ses_a", Title: "test", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		if _, err := w.engine.Commands.AdmitPrompt(
			ctx, admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}},
		); err != nil {
			t.Fatal("admit the prompt:", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if check != nil {
			check(w)
		}
		w.close(t)
		prove(t, w)
		for _, row := range allEvents(t, w.store) {
			kinds += strings.TrimPrefix(string(row.Kind), "session.next.") + " "
			if row.Kind == session.KindStepFailed || row.Kind == session.KindToolFailed {
				d, _ := session.DecodeData(row.Kind, row.Version, row.Data)
				switch d := d.(type) {
				case *session.StepFailed:
					reasons += d.Error.Message + "; "
				case *session.ToolFailed:
					reasons += d.Error.Message + "; "
				}
			}
		}
	})
	_, kinds, _ = strings.Cut(kinds, "prompted ")
	return strings.TrimSpace(kinds), reasons
}

func hostedCall(id string) []llm.Event {
	return []llm.Event{
		llm.ResponseStart{}, llm.ToolCallEvent{ID: id, Name: "search", Input: jsontext.Value(`{}`), Hosted: true},
	}
}

// Every violation of the protocol is recorded, retried if that may help, and leaves nothing open.
func TestProviderProtocol(t *testing.T) {
	finish := llm.Finish{Reason: llm.FinishStop}
	result := llm.HostedResult{ID: "h", Result: jsontext.Value(`[1]`)}
	failure := llm.HostedResult{ID: "h", Result: jsontext.Value(`[2]`), IsError: true}
	local := llm.ToolCallEvent{ID: "c", Name: "echo", Input: jsontext.Value(`{}`)}
	text := []llm.Event{llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "a"}}
	const ok = "step.started text.started text.ended step.ended"
	const again = "retried " + ok
	for _, c := range []struct {
		name    string
		said    []llm.Event
		kinds   string
		because string
	}{
		{
			"nothing but a finish",
			[]llm.Event{llm.ResponseStart{}, finish},
			again,
			"",
		},
		{"no finish", text, "step.started text.started text.ended step.failed " + again, "ended before it was complete"},
		{"open text at the finish", append(text, finish), ok, ""},
		{
			"bytes that are no text",
			[]llm.Event{llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: strings.Repeat("x", 17<<10) + "\xff"}, finish},
			"step.started text.started item.checkpointed text.ended step.ended", "",
		},
		{
			"two finishes", append(text, finish, finish), "step.started text.started text.ended step.failed " + again,
			"ended twice",
		},
		{"a delta of nothing", []llm.Event{llm.TextDelta{ID: "t", Delta: "a"}}, again, ""},
		{
			"a start twice", append(text, llm.TextStart{ID: "t"}), "step.started text.started text.ended step.failed " + again,
			"starts twice",
		},
		{
			"a delta after the end", append(text, llm.TextEnd{ID: "t"}, llm.TextDelta{ID: "t", Delta: "b"}),
			"step.started text.started text.ended step.failed " + again, "not open",
		},
		{
			"another name",
			[]llm.Event{llm.ToolInputStart{ID: "c", Name: "read"}, local},
			"step.started tool.input.started tool.input.ended tool.failed step.failed " + again, "changes its name",
		},
		{
			"the same call twice",
			[]llm.Event{local, local},
			"step.started tool.input.started tool.input.ended tool.failed step.failed " + again, "comes twice",
		},
		{"a result of nothing", []llm.Event{result}, again, ""},
		{
			"a result of a local call",
			[]llm.Event{local, llm.HostedResult{ID: "c", Result: jsontext.Value(`1`)}},
			"step.started tool.input.started tool.input.ended tool.failed step.failed " + again, "did not run",
		},
		{
			"a hosted call", append(hostedCall("h"), result, finish),
			"step.started tool.input.started tool.input.ended tool.called tool.success step.ended", "",
		},
		{
			"a hosted call without result", append(hostedCall("h"), finish),
			"step.started tool.input.started tool.input.ended tool.called tool.failed step.ended", "without a result",
		},
		{
			"a hosted call and the end", hostedCall("h"),
			"step.started tool.input.started tool.input.ended tool.called tool.failed step.failed " + again,
			"ended before it was complete",
		},
		{
			"two hosted results", append(hostedCall("h"), result, result),
			"step.started tool.input.started tool.input.ended tool.called tool.success step.failed " + again, "second result",
		},
		{
			"a late error of a hosted call", append(hostedCall("h"), result, failure, finish),
			"step.started tool.input.started tool.input.ended tool.called tool.success step.ended", "",
		},
		{
			"input that is no object",
			[]llm.Event{llm.ToolCallEvent{ID: "c", Name: "echo", Input: jsontext.Value(`[1]`)}, finish},
			"step.started tool.input.started tool.input.ended tool.called tool.success step.ended " + ok, "",
		},
		{
			"no input",
			[]llm.Event{llm.ToolCallEvent{ID: "c", Name: "echo"}, finish},
			"step.started tool.input.started tool.input.ended tool.called tool.success step.ended " + ok, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds, reasons := converse(t, &spoken{turns: [][]llm.Event{c.said}}, nil)
			if kinds != c.kinds || !strings.Contains(reasons, c.because) {
				t.Errorf("got  %s\nwant %s\nbecause %s", kinds, c.kinds, reasons)
			}
		})
	}
}

// An empty answer is charged.
func TestEmptyAnswersAreCharged(t *testing.T) {
	empty := []llm.Event{llm.Finish{Reason: llm.FinishStop, Usage: llm.Usage{Input: 1000}}}
	converse(t, &spoken{turns: [][]llm.Event{empty, empty}}, func(w *world) {
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil || s.Tokens.Input != 2000 || s.Cost != 2000*session.Dollar/1_000_000 {
			t.Errorf("%+v %s, %v", s.Tokens, s.Cost, err)
		}
	})
}

// failing is a model whose failures report usage.
type failing struct{ failures []*llm.Error }

func (m *failing) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if len(m.failures) == 0 {
			_ = yield(llm.TextStart{ID: "t"}, nil) && yield(llm.TextEnd{ID: "t"}, nil) && yield(
				llm.Finish{Reason: llm.FinishStop}, nil,
			)
			return
		}
		err := m.failures[0]
		m.failures = m.failures[1:]
		yield(nil, err)
	}
}

// The usage of a failed answer is charged to the turn, to the session and to the spend, so that budgets count it.
func TestFailuresAreCharged(t *testing.T) {
	used := &llm.Usage{Input: 100, Output: 10}
	for _, c := range []struct {
		class llm.Class
		turns int64 // that are charged
	}{{llm.Empty, 2}, {llm.ContentFilter, 1}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, script.Script{})
			w.models["test/one"].Client = &failing{[]*llm.Error{{Class: c.class, Usage: used}, {Class: c.class, Usage: used}}}
			if _, err := w.engine.Commands.CreateSession(
				t.Context(), admit.CreateRequest{ID: "ses_a", Title: "test", Location: session.Location{Directory: "/w"}},
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
			s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
			if err != nil || s.Tokens.Sum() != c.turns*110 || s.Cost != session.USD(c.turns*110)*session.Dollar/1_000_000 {
				t.Errorf("%s: %+v %s, %v", c.class, s.Tokens, s.Cost, err)
			}
			w.close(t)
			prove(t, w)
		})
	}
}

func TestModelPanics(t *testing.T) {
	kinds, reasons := converse(
		t, &spoken{panic: true, turns: [][]llm.Event{{llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "a"}}}}, nil,
	)
	if kinds != "step.started text.started text.ended step.failed" || !strings.Contains(reasons, "internal error") {
		t.Errorf("%s because %s", kinds, reasons)
	}
}

// No prompt of a client, accepted or refused, leaves a session that cannot be prompted.
func TestNoPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		w.models["test/one"].Client = &spoken{}
		ctx, e := t.Context(), w.engine
		for _, id := range []session.ID{"ses_a", "ses_b"} {
			if _, err := e.Commands.CreateSession(
				ctx, admit.CreateRequest{ID: id, Title: "test", Location: session.Location{Directory: "/w"}},
			); err != nil {
				t.Fatal("create the session:", err)
			}
		}
		if _, err := e.Commands.AdmitPrompt(
			ctx, admit.PromptRequest{SessionID: "ses_b", ID: "msg_b", Prompt: session.Prompt{Text: "hi"}},
		); err != nil {
			t.Fatal("admit the prompt:", err)
		}
		synctest.Wait()
		taken := answerOf(t, w, "ses_b")
		for _, p := range []admit.PromptRequest{
			{ID: "msg_b", Prompt: session.Prompt{Text: "hi"}},
			{ID: taken, Prompt: session.Prompt{Text: "hi"}},
			{Prompt: session.Prompt{Text: "x", Files: []session.File{{URI: "file:///\xff"}}}},
			{Prompt: session.Prompt{Text: "x", Agents: []session.AgentMention{{Name: "\xff"}}}},
			{Prompt: session.Prompt{Text: "x", Files: []session.File{{}}}},
			{Prompt: session.Prompt{Text: strings.Repeat("x", 17<<20)}},
			{Prompt: session.Prompt{Text: "x", Extra: jsontext.Value(`{"broken`)}},
			{Prompt: session.Prompt{Text: "x", Extra: jsontext.Value(`{"text":"again"}`)}},
			{Prompt: session.Prompt{Text: "bad \xff text is mended"}},
			{Prompt: session.Prompt{Files: []session.File{{URI: "data:image/png;base64,!!!"}, {URI: "data:"}, {URI: "x:"}}}},
		} {
			p.SessionID = "ses_a"
			in, err := e.Commands.AdmitPrompt(ctx, p)
			if _, known := errors.AsType[*session.Error](err); err != nil && !known {
				t.Errorf("%q: the error is not for the caller: %v", clip(p.Prompt.Text, 20), err)
			}
			synctest.Wait()
			if err == nil && answerOf(t, w, "ses_a") == "" {
				t.Errorf("the prompt %s has no answer", in.ID)
			}
			if _, err := e.Commands.AdmitPrompt(
				ctx, admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "fine"}},
			); err != nil {
				t.Errorf("after %q: %v", clip(p.Prompt.Text, 20), err)
			}
			synctest.Wait()
			if answerOf(t, w, "ses_a") == "" {
				t.Errorf("after %q a good prompt has no answer", clip(p.Prompt.Text, 20))
			}
		}
		w.close(t)
		prove(t, w)
	})
}

// answerOf returns the newest message if it is a turn that ended and no prompt is pending, else "".
func answerOf(t *testing.T, w *world, id session.ID) (answer session.MessageID) {
	t.Helper()
	err := w.store.View(context.Background(), func(r store.Reader) error {
		pending, err := store.PendingInputs(r, id, "", 0)
		if err != nil || len(pending) > 0 {
			return err
		}
		ms, err := store.ReadMessages(r, id, store.MessageQuery{After: -1, Newest: true, Limit: 1})
		if err != nil || len(ms) == 0 {
			return err
		}
		if a, ok := ms[0].(*session.Assistant); ok && !a.Open() {
			answer = a.ID
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
