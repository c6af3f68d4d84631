package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/llm"
)

// streamAnswer sends the request and records the answer. A goroutine of its own reads the events, so that checkpoints
// keep their time when the model is slow.
func (t *turn) streamAnswer(ctx context.Context, req *llm.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Read in a goroutine, which ends with ctx: the deferred calls cancel it and wait.
	events := make(chan streamEvent)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(events)
		t.readStream(ctx, req, events)
	})
	defer reader.Wait()
	defer cancel()
	// Record each event; between events, store what has streamed so far.
	tick := time.NewTicker(t.engine.limits.Checkpoint)
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

// streamEvent is an element of a stream: an event or an error.
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
			t.engine.logger.Error("a model's client panicked", "session", t.id, "panic", p, "stack", string(debug.Stack()))
			send(streamEvent{err: &llm.Error{
				Class: llm.Unknown, Message: "internal error in the model's client; the log has the details",
			}})
		}
	}()
	for ev, err := range t.input.model.Client.Stream(ctx, req) {
		if !send(streamEvent{ev, err}) {
			return
		}
	}
}

// cutText returns the text of an answer that ended without an end marker, "" if err is another one or the answer has
// calls.
func (t *turn) cutText(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Class != llm.Incomplete || t.recorder.HasOpenCall() {
		return ""
	}
	return strings.Join(t.recorder.AnswerTexts(), "")
}

// acceptsCut accepts an answer that ended without an end marker if the attempt before it ended in the same way after
// the same text: the provider sends no marker, and this is all of the answer. Its end is unknown.
func (t *turn) acceptsCut(err error, before string) bool {
	if before == "" || t.cutText(err) != before {
		return false
	}
	e, _ := errors.AsType[*llm.Error](err)
	used := llm.Usage{}
	if e.Usage != nil {
		used = *e.Usage
	}
	t.recorder.SetFinish(string(llm.FinishUnknown), used)
	return true
}

// checkStreamEnd judges a stream that stopped without error.
func (t *turn) checkStreamEnd(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.recorder.FinalAnswer() == nil:
		return &llm.Error{Class: llm.Incomplete, Message: "the model's answer ended before it was complete"}
	case t.recorder.IsEmpty() && t.recorder.FinalAnswer().Finish == string(llm.FinishLength):
		return &llm.Error{Class: llm.InvalidRequest, Message: history.DescribeEmptyCut(t.input.model.Generate.MaxTokens)}
	case t.recorder.IsEmpty():
		return &llm.Error{Class: llm.Empty, Message: "the model answered with nothing"}
	default:
		return nil
	}
}
