package engine

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// turn is one provider turn at work. It belongs to the drain's goroutine.
type turn struct {
	*drain
	set      *setting
	recorder *record.Recorder
	message  session.MessageID // once calls are to be settled
	calls    []*call
	mu       sync.Mutex // guards the joint outcome of settlements
}

// newTurn returns a turn of the setting. sent is the prefix of its request, and prefix what is recorded of it; nil if
// the turn sends none.
func newTurn(d *drain, set *setting, sent llm.Prefix, prefix *session.CachePrefix) *turn {
	return &turn{drain: d, set: set, recorder: record.New(recorderConfig(d, set, sent, prefix))}
}

func recorderConfig(d *drain, set *setting, sent llm.Prefix, prefix *session.CachePrefix) record.Config {
	c := record.Config{
		Journal: d.journal, SessionID: d.id, Agent: set.agent.ID, Model: set.model.Ref, ParentID: set.prompt,
		Prefix: prefix, Cost: set.model.Cost, NoPause: set.final || d.unfinished == maxPauses,
		AnswerBytes: d.limits.AnswerBytes, CheckBytes: d.limits.CheckBytes,
	}
	if prefix != nil {
		c.OnStart = func(m session.MessageID) { d.keepPrefix(set, history.SentPrefix{Turn: m, Prefix: sent}, prefix) }
	}
	if !set.final {
		c.ToolName = func(name string) string { return set.tools().Meant(name) }
	}
	return c
}

// keepPrefix keeps the prefix of a request whose turn has begun, and warns if the prefix changed without a known cause:
// the provider then charges for the whole conversation again.
func (d *drain) keepPrefix(set *setting, sent history.SentPrefix, prefix *session.CachePrefix) {
	set.cached.sent = sent
	if changed := prefix.Alarm(); changed != "" {
		d.logger.Warn("the prefix of a request changed without a known cause, so the provider's cache does not apply",
			"session", d.id, "turn", sent.Turn, "changed", changed)
	}
}

// stream sends the request and records the answer. A goroutine of its own reads the events, so that checkpoints keep
// their time when the model is slow.
func (t *turn) stream(ctx context.Context, req *llm.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan streamEvent)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(events)
		t.readStream(ctx, req, events)
	})
	defer reader.Wait()
	defer cancel()
	tick := time.NewTicker(t.limits.Checkpoint)
	defer tick.Stop()
	for {
		select {
		case s, ok := <-events:
			if !ok {
				return t.checkStreamEnd(ctx)
			}
			if s.err != nil {
				return llm.AsError(ctx, s.err)
			}
			if err := t.recorder.Record(ctx, s.event); err != nil {
				return err
			}
		case <-tick.C:
			if err := t.recorder.Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
}

// streamEvent is what a stream yields.
type streamEvent struct {
	event llm.Event
	err   error
}

// readStream passes the events on until the stream or ctx ends. A panic of the client fails this turn only.
func (t *turn) readStream(ctx context.Context, req *llm.Request, events chan<- streamEvent) {
	send := func(s streamEvent) bool {
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
			send(streamEvent{err: &llm.Error{
				Class: llm.Unknown, Message: "the model's client broke down (a fault of ours, it is logged)",
			}})
		}
	}()
	for ev, err := range t.set.model.Client.Stream(ctx, req) {
		if !send(streamEvent{ev, err}) {
			return
		}
	}
}

// checkStreamEnd judges a stream that stopped without error.
func (t *turn) checkStreamEnd(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.recorder.FinalAnswer() == nil:
		return &llm.Error{Class: llm.Incomplete, Message: "the model's answer ended in the middle"}
	case t.recorder.IsEmpty():
		return &llm.Error{Class: llm.Empty, Message: "the model answered with nothing"}
	default:
		return nil
	}
}
