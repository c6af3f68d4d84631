package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// turn records what a model says: llm.Event in, facts and live text out. It belongs to the drain's goroutine.
type turn struct {
	*drain
	set     *setting
	message session.MessageID // "" until the first output
	begins  session.PartID    // of its beginning
	sends   llm.Prefix        // the fingerprint of its request
	prefix  *session.CachePrefix
	items   map[string]*openItem
	order   []*openItem
	dirty   int // bytes that no checkpoint has
	size    int // bytes of the answer
	calls   []*call
	made    map[string]*call // by the provider's id
	answer  *session.Answer
	mu      sync.Mutex // guards the joint outcome of settlements
}

func newTurn(d *drain, set *setting) *turn {
	return &turn{drain: d, set: set, items: map[string]*openItem{}}
}

// stream asks the model and records its answer. The events are read in a goroutine of their own, so that checkpoints
// keep their time when the model is slow.
func (t *turn) stream(ctx context.Context, req *llm.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan said)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(events)
		t.listen(ctx, req, events)
	})
	defer reader.Wait()
	defer cancel()
	tick := time.NewTicker(t.limits.Checkpoint)
	defer tick.Stop()
	for {
		select {
		case s, ok := <-events:
			if !ok {
				return t.ended(ctx)
			}
			if s.err != nil {
				return llm.AsError(ctx, s.err)
			}
			if err := t.record(ctx, s.event); err != nil {
				return err
			}
		case <-tick.C:
			if err := t.checkpoint(ctx); err != nil {
				return err
			}
		}
	}
}

// said is one thing that a stream yields.
type said struct {
	event llm.Event
	err   error
}

// listen passes on what the model says until the stream or ctx ends. A panic of the client ends this turn only.
func (t *turn) listen(ctx context.Context, req *llm.Request, events chan<- said) {
	pass := func(s said) bool {
		select {
		case events <- s:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if p := recover(); p != nil {
			t.logger.Error("a model's client panicked", "session", t.id, "panic", p, "stack", string(debug.Stack()))
			pass(said{err: &llm.Error{Class: llm.Unknown, Message: "the model's client broke down (a fault of ours, it is logged)"}})
		}
	}()
	for ev, err := range t.set.model.Client.Stream(ctx, req) {
		if !pass(said{ev, err}) {
			return
		}
	}
}

// ended judges a stream that stopped without error.
func (t *turn) ended(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.answer == nil:
		return &llm.Error{Class: llm.Incomplete, Message: "the model's answer ended in the middle"}
	case t.message == "" && len(t.order) == 0 && len(t.calls) == 0:
		return &llm.Error{Class: llm.Empty, Message: "the model answered with nothing"}
	default:
		return nil
	}
}

// record enters one event.
func (t *turn) record(ctx context.Context, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.Opened:
		return fault.Point(ctx, fault.TurnHeaders)
	case llm.TextStart:
		return t.start(ctx, &openItem{kind: session.FragmentText, id: ev.ID})
	case llm.TextDelta:
		return t.delta(ctx, session.FragmentText, ev.ID, ev.Delta)
	case llm.TextEnd:
		return t.end(session.FragmentText, ev.ID, ev.Metadata)
	case llm.ReasoningStart:
		return t.start(ctx, &openItem{kind: session.FragmentReasoning, id: ev.ID, meta: ev.Metadata})
	case llm.ReasoningDelta:
		return t.delta(ctx, session.FragmentReasoning, ev.ID, ev.Delta)
	case llm.ReasoningEnd:
		return t.end(session.FragmentReasoning, ev.ID, ev.Metadata)
	case llm.ToolInputStart:
		return t.start(ctx, &openItem{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name})
	case llm.ToolInputDelta:
		return t.delta(ctx, session.FragmentToolInput, ev.ID, ev.Delta)
	case llm.ToolInputEnd:
		return t.end(session.FragmentToolInput, ev.ID, nil)
	case llm.ToolCallEvent:
		return t.called(ctx, ev)
	case llm.HostedResult:
		return t.hosted(ctx, ev)
	case llm.Finish:
		return t.finish(ev)
	default:
		return violation("an event of type %T", ev)
	}
}

func violation(format string, args ...any) error {
	return &llm.Error{Class: llm.Malformed, Message: "the provider broke its protocol: " + fmt.Sprintf(format, args...)}
}
