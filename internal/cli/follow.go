package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// following is a run's look at its session over one connection. Its goroutines report to the run's own and end with
// the context of follow, which waits for them.
type following struct {
	*runner
	wg      sync.WaitGroup
	updates chan said
	idle    chan error       // the session is idle, or waiting for that failed; capacity 1: one waits at a time
	failed  chan error       // the interrupt could not be made; capacity 1: there is one
	asked   <-chan struct{}  // the first signal; nil once the session is interrupted
	late    <-chan time.Time // --timeout passed; likewise
}

// said is one thing that the stream says.
type said struct {
	update api.Update
	err    error
}

// follow shows the work until it is done. It returns nil when the span says how it came out.
func (r *runner) follow(ctx context.Context) error {
	f := &following{
		runner: r, updates: make(chan said), idle: make(chan error, 1), failed: make(chan error, 1),
		asked: r.app.asked, late: r.clock(),
	}
	defer f.wg.Wait()
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.wg.Go(f.stream(sctx, r.span.cursor))
	f.await(sctx, func(ctx context.Context) error { return r.conn.API.Wait(ctx, r.plan.id) })
	if r.stopped != 0 { // before the connection was lost
		f.interrupt(sctx, r.stopped)
	}
	waiting := time.After(time.Second)
	for {
		if err := r.deliver(ctx); err != nil {
			return err
		}
		select {
		case <-waiting:
			r.sayWaiting()
		case text, ok := <-r.typed():
			r.heard(text, ok)
		case s := <-f.updates:
			if s.err != nil {
				return s.err
			}
			r.take(s.update)
		case err := <-f.idle:
			if done, err := f.rested(ctx, sctx, err); done || err != nil {
				return err
			}
		case err := <-f.failed:
			return fmt.Errorf("interrupt the session: %w", err)
		case <-f.asked:
			r.view.note("interrupting; press Ctrl-C again to leave at once")
			f.interrupt(sctx, exitInterrupted)
		case <-f.late:
			f.interrupt(sctx, exitTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.span.over || r.span.withdrawn {
			return nil
		}
		if r.app.out.err != nil && r.stopped == 0 {
			f.interrupt(sctx, exitError)
		}
	}
}

// stream reads what happens after the cursor.
func (f *following) stream(ctx context.Context, after int64) func() {
	c, id := f.conn.API, f.plan.id
	return func() {
		for u, err := range c.Follow(ctx, id, after) {
			select {
			case f.updates <- said{u, err}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// await reports when wait returns. Nobody else is waiting.
func (f *following) await(ctx context.Context, wait func(context.Context) error) {
	f.wg.Go(func() { f.idle <- wait(ctx) })
}

// interrupt stops the session's work. That the session is idle then is heard of like always.
func (f *following) interrupt(ctx context.Context, why exitCode) {
	f.stopped, f.asked, f.late = why, nil, nil
	c, id := f.conn.API, f.plan.id
	f.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, interruptTime)
		defer cancel()
		if err := c.Interrupt(ctx, id); err != nil {
			f.failed <- err
		}
	})
}

// rested deals with an idle session: it is done, or it must be told to go on, which lasts as long as sctx.
func (f *following) rested(ctx, sctx context.Context, err error) (done bool, _ error) {
	if err == nil {
		err = f.rest(ctx)
	}
	if err != nil || f.stopped != 0 || f.span.complete() {
		return true, err
	}
	goOn, err := f.nudge()
	if err == nil {
		f.await(sctx, goOn)
	}
	return false, err
}

// nudge says how to get on with work that an idle session has left: its owner was replaced by one that does not pick
// up what others began. It gives up when that does not help.
func (r *runner) nudge() (func(context.Context) error, error) {
	const most = 3
	if r.nudged != r.span.cursor {
		r.nudges, r.nudged = 0, r.span.cursor
	}
	if r.nudges++; r.nudges > most {
		return nil, errors.New("the session stopped before the work was done")
	}
	c, id := r.conn.API, r.plan.id
	if r.span.begun || r.nudges == most { // the last one hears why the work ends, where that cannot be recorded
		return func(ctx context.Context) error { return c.Resume(ctx, id) }, nil
	}
	again := r.promptRequest()
	return func(ctx context.Context) error {
		if _, err := c.Prompt(ctx, id, again); err != nil && !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			return err
		}
		return c.Wait(ctx, id)
	}, nil
}

// interruptTime bounds how long an interrupt may take to be recorded.
const interruptTime = 20 * time.Second

// clock fires when --timeout has passed.
func (r *runner) clock() <-chan time.Time {
	if r.plan.timeout == 0 {
		return nil
	}
	return time.After(time.Until(r.started.Add(r.plan.timeout)))
}

// rest reads what the stream had not told yet when the session became idle.
func (r *runner) rest(ctx context.Context) error {
	for {
		h, err := r.conn.API.History(ctx, r.plan.id, r.span.cursor, 0)
		if err != nil {
			return err
		}
		for i := range h.Data {
			r.take(api.Update{Event: &h.Data[i]})
		}
		if !h.HasMore || len(h.Data) == 0 || r.span.over {
			return nil
		}
	}
}
