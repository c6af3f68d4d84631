package turnlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// bench is a session in a store of its own, and the time of its clock.
type bench struct {
	config RecorderConfig
	now    time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{now: time.UnixMilli(1_000_000)}
	s, ids := storetest.NewMemory(), &session.IDs{}
	now := func() time.Time { return b.now }
	log := eventlog.New(eventlog.Config{Store: s, IDs: ids, Now: now})
	b.config = RecorderConfig{
		Journal:   &Journal{Store: s, Log: log, IDs: ids, Logger: slog.New(slog.DiscardHandler), Now: now},
		SessionID: "ses_a", Agent: "build", Model: session.ModelRef{ID: "one", ProviderID: "test"},
		AnswerBytes: 1 << 20, CheckBytes: 1 << 20,
	}
	err := b.append(t, &session.Created{Info: session.Session{ID: "ses_a"}})
	if err != nil {
		t.Fatal("create the session:", err)
	}
	return b
}

func (b *bench) append(t *testing.T, d session.EventData) error {
	_, err := b.config.Journal.AppendDrafts(t.Context(), "ses_a", store.Durable, eventlog.Draft{Data: d})
	return err
}

// events returns the kinds of the session's events, without its creation, and the texts that they carry.
func (b *bench) events(t *testing.T) (out []string) {
	t.Helper()
	err := b.config.Journal.Store.View(context.Background(), func(r store.Reader) error {
		rows, err := r.Events("ses_a", 0, 0)
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			out = append(out, describe(e.Data))
		}
		return err
	})
	if err != nil {
		t.Fatal("read the events:", err)
	}
	return out
}

func describe(d session.EventData) string {
	switch e := d.(type) {
	case *session.TextEnded:
		return fmt.Sprintf("%s %q partial=%v", d.Kind(), e.Text, e.Partial)
	case *session.ItemCheckpointed:
		return fmt.Sprintf("%s %d %q", d.Kind(), e.Offset, e.Text)
	case *session.ToolCalled:
		return fmt.Sprintf("%s %s %s", d.Kind(), e.Tool, e.Input)
	case *session.ToolFailed:
		return fmt.Sprintf("%s %s", d.Kind(), e.Error.Message)
	case *session.StepEnded:
		return fmt.Sprintf("%s %s", d.Kind(), e.Finish)
	case *session.StepFailed:
		return fmt.Sprintf("%s %s", d.Kind(), e.Error.Message)
	default:
		return string(d.Kind())
	}
}

func record(t *testing.T, r *Recorder, events ...llm.Event) error {
	t.Helper()
	for _, ev := range events {
		if err := r.Record(t.Context(), ev); err != nil {
			return err
		}
	}
	return nil
}

func call(id, name, input string) llm.ToolCallEvent {
	return llm.ToolCallEvent{ID: id, Name: name, Input: jsontext.Value(input)}
}

var usage = llm.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}

// An answer with a text and a call: the call is durable before it can run, and its input is an object.
func TestRecordAnswer(t *testing.T) {
	b := newBench(t)
	var started session.MessageID
	b.config.OnStart = func(m session.MessageID) { started = m }
	b.config.ToolName = strings.ToLower
	r := NewRecorder(b.config)
	err := record(
		t, r,
		llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "Reading."}, llm.TextEnd{ID: "t"},
		call("c", "Read", `"a.go"`), llm.Finish{Reason: llm.FinishToolCalls, Usage: usage},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CommitCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.EndTurn(t.Context(), &session.StepEnded{Finish: r.FinalAnswer().Finish}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"session.next.step.started", "session.next.text.started", `session.next.text.ended "Reading." partial=false`,
		"session.next.tool.input.started", "session.next.tool.input.ended",
		`session.next.tool.called read {"value":"a.go"}`, "session.next.step.ended tool-calls",
	}
	if diff := cmp.Diff(want, b.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if started != r.MessageID() || started == "" {
		t.Errorf("OnStart got %q, the message is %q", started, r.MessageID())
	}
	tokens := session.Tokens{Input: 6, Output: 3, Reasoning: 2, Cache: session.CacheUsage{Read: 4}}
	if got := r.FinalAnswer().Tokens; got != tokens {
		t.Errorf("tokens %+v, want %+v", got, tokens)
	}
}

// A failed turn keeps the text so far, marked partial, and fails the calls that its model began.
func TestFailKeepsText(t *testing.T) {
	b := newBench(t)
	r := NewRecorder(b.config)
	err := record(
		t, r,
		llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: "Half a sen"}, llm.ToolInputStart{ID: "c", Name: "read"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CommitStarts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.FailTurn(t.Context(), session.Fail(session.ReasonAPI, "the connection broke")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"session.next.step.started", "session.next.text.started", "session.next.tool.input.started",
		`session.next.text.ended "Half a sen" partial=true`, "session.next.tool.input.ended",
		"session.next.tool.failed The tool was not run: the connection broke",
		"session.next.step.failed the connection broke",
	}
	if diff := cmp.Diff(want, b.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A turn without a message has nothing to fail; StartMessage gives it one.
func TestFailWithoutMessage(t *testing.T) {
	b := newBench(t)
	r := NewRecorder(b.config)
	f := session.Fail(session.ReasonAuth, "no key")
	if err := r.FailTurn(t.Context(), f); err != nil || len(b.events(t)) != 0 {
		t.Errorf("without a message: %v, events %q", err, b.events(t))
	}
	if err := errors.Join(r.StartMessage(t.Context()), r.FailTurn(t.Context(), f)); err != nil {
		t.Fatal(err)
	}
	want := []string{"session.next.step.started", "session.next.step.failed no key"}
	if diff := cmp.Diff(want, b.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A checkpoint stores what came since the one before, and nothing if nothing came.
func TestCheckpoint(t *testing.T) {
	b := newBench(t)
	r := NewRecorder(b.config)
	for _, delta := range []string{"one ", "", "two"} {
		events := []llm.Event{llm.TextStart{ID: "t"}, llm.TextDelta{ID: "t", Delta: delta}}
		if r.HasMessage() {
			events = events[1:]
		}
		if err := errors.Join(record(t, r, events...), r.Checkpoint(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"session.next.step.started", "session.next.text.started",
		`session.next.item.checkpointed 0 "one "`, `session.next.item.checkpointed 4 "two"`,
	}
	if diff := cmp.Diff(want, b.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The start of arguments is committed once they stream for longer than inputDelay.
func TestSlowInputBecomesVisible(t *testing.T) {
	b := newBench(t)
	r := NewRecorder(b.config)
	err := record(t, r, llm.ToolInputStart{ID: "c", Name: "write"}, llm.ToolInputDelta{ID: "c", Delta: "{"})
	if err != nil || r.HasMessage() {
		t.Fatalf("at once: %v, events %q", err, b.events(t))
	}
	b.now = b.now.Add(2 * inputDelay)
	if err := record(t, r, llm.ToolInputDelta{ID: "c", Delta: "}"}); err != nil || !r.HasMessage() {
		t.Errorf("after %v: %v, events %q", 2*inputDelay, err, b.events(t))
	}
}

func TestProtocolViolations(t *testing.T) {
	text := llm.TextStart{ID: "t"}
	for name, events := range map[string][]llm.Event{
		"an item starts twice":         {text, text},
		"a delta without start":        {llm.TextDelta{ID: "t", Delta: "x"}},
		"a delta after the end":        {text, llm.TextEnd{ID: "t"}, llm.TextDelta{ID: "t", Delta: "x"}},
		"a call comes twice":           {call("c", "read", `{}`), call("c", "read", `{}`)},
		"a call changes its name":      {llm.ToolInputStart{ID: "c", Name: "read"}, call("c", "write", `{}`)},
		"a result of a local call":     {call("c", "read", `{}`), llm.HostedResult{ID: "c"}},
		"the answer ends twice":        {llm.Finish{Reason: llm.FinishStop}, llm.Finish{Reason: llm.FinishStop}},
		"a result of no call":          {llm.HostedResult{ID: "c"}},
		"arguments end without start":  {llm.ToolInputEnd{ID: "c"}},
		"reasoning ends without start": {llm.ReasoningEnd{ID: "r"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := record(t, NewRecorder(newBench(t).config), events...)
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Class != llm.Malformed {
				t.Errorf("got %v, want an *llm.Error of class Malformed", err)
			}
		})
	}
}

// A hosted call without a result fails when the answer ends well; an answer that is cut marks its last call.
func TestCommitCalls(t *testing.T) {
	b := newBench(t)
	r := NewRecorder(b.config)
	hosted := call("h", "web_search", `{}`)
	hosted.Hosted = true
	broken := call("c", "write", `{}`)
	broken.Invalid = "unexpected end"
	if err := record(t, r, hosted, broken, llm.Finish{Reason: llm.FinishLength}); err != nil {
		t.Fatal(err)
	}
	if err := r.CommitCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(b.events(t), "\n")
	if !strings.Contains(got, "the provider ended its answer without a result of this call") {
		t.Errorf("the hosted call has no outcome:\n%s", got)
	}
	if calls := r.LocalCalls(); len(calls) != 1 || !calls[0].Cut {
		t.Errorf("local calls %+v, want one that is cut", calls)
	}
}

// With NoPause a paused answer ends.
func TestNoPause(t *testing.T) {
	for _, noPause := range []bool{false, true} {
		b := newBench(t)
		b.config.NoPause = noPause
		r := NewRecorder(b.config)
		if err := record(t, r, llm.Finish{Reason: llm.FinishPaused}); err != nil {
			t.Fatal(err)
		}
		want := session.FinishPaused
		if noPause {
			want = string(llm.FinishStop)
		}
		if r.FinalAnswer().Finish != want || !r.IsPaused() {
			t.Errorf("NoPause %v: finish %q, paused %v", noPause, r.FinalAnswer().Finish, r.IsPaused())
		}
	}
}
