package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionWatch watches a run's session over one connection. Its goroutines end with the context of follow, which waits
// for them.
type sessionWatch struct {
	*runner
	wg       sync.WaitGroup
	updates  chan streamItem
	idle     chan error // the session is idle, or waiting for that failed; capacity 1: one waits at a time
	failed   chan error // the interrupt could not be made; capacity 1: there is one
	running  chan session.ToolProgress
	stopping <-chan struct{}  // the first signal; nil once the session is interrupted
	late     <-chan time.Time // --timeout passed; likewise
}

// streamItem is one item of the session's stream.
type streamItem struct {
	update api.Update
	err    error
}

// follow shows the work until it is done. It returns nil when the prompt's progress says how it came out.
func (r *runner) follow(ctx context.Context) error {
	f := &sessionWatch{
		runner: r, updates: make(chan streamItem), idle: make(chan error, 1), failed: make(chan error, 1),
		running:  make(chan session.ToolProgress),
		stopping: r.app.Stopping, late: r.timeoutTimer(),
	}
	defer f.wg.Wait()
	defer r.tasks.Wait()
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.wg.Go(f.stream(sctx, r.progress.cursor))
	f.waitAside(sctx, func(ctx context.Context) error { return r.conn.API.Wait(ctx, r.plan.id) })
	if r.stopped != 0 { // before the connection was lost
		f.interrupt(sctx, r.stopped)
	}
	waiting := time.After(time.Second)
	frames, stop := f.startLive(sctx)
	defer stop()
	for {
		r.handleTasks(r.tasks.Watch(sctx, r.conn.API)...)
		if err := r.deliver(ctx); err != nil {
			return err
		}
		select {
		case <-waiting:
			r.noteWaiting()
		case text, ok := <-r.terminalLines():
			r.onTerminalLine(text, ok)
		case <-frames:
			f.drawLive()
		case p := <-f.running:
			f.live.NoteProgress(&p)
		case s := <-f.updates:
			if s.err != nil {
				return s.err
			}
			r.showUpdate(s.update)
		case e := <-r.tasks.Events:
			r.handleTasks(e)
		case err := <-f.idle:
			if done, err := f.onIdle(ctx, sctx, err); done || err != nil {
				return err
			}
		case err := <-f.failed:
			return fmt.Errorf("interrupt the session: %w", err)
		case <-f.stopping:
			r.noteStopping()
			f.interrupt(sctx, cli.ExitInterrupted)
		case <-f.late:
			f.interrupt(sctx, cli.ExitTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.progress.over || r.progress.withdrawn {
			return nil
		}
		if r.app.Out.Err != nil && r.stopped == 0 {
			f.interrupt(sctx, cli.ExitFailure)
		}
	}
}

// startLive begins to show what runs, until stop is called. Without a terminal there are no frames.
func (f *sessionWatch) startLive(ctx context.Context) (frames <-chan time.Time, stop func()) {
	if f.live == nil {
		return nil, func() {}
	}
	f.wg.Go(func() { readProgress(ctx, f.conn.API, f.running) })
	ticker := time.NewTicker(view.LiveInterval)
	return ticker.C, func() {
		ticker.Stop()
		f.live.Clear()
	}
}

// drawLive draws the next frame, unless a request for the person is on the screen.
func (r *runner) drawLive() {
	if r.terminal == nil || len(r.terminal.Pending) == 0 {
		r.live.DrawFrame()
	}
}

// stream reads what happens after the cursor.
func (f *sessionWatch) stream(ctx context.Context, after int64) func() {
	c, id := f.conn.API, f.plan.id
	return func() {
		for u, err := range c.Follow(ctx, id, after) {
			select {
			case f.updates <- streamItem{u, err}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// waitAside reports on the channel idle when wait returns. One goroutine waits at a time.
func (f *sessionWatch) waitAside(ctx context.Context, wait func(context.Context) error) {
	f.wg.Go(func() { f.idle <- wait(ctx) })
}

// interrupt withdraws the prompt or, if its work has begun, stops it. The stream and the wait for an idle session show
// the effect.
func (f *sessionWatch) interrupt(ctx context.Context, why cli.ExitCode) {
	f.stopped, f.stopping, f.late = why, nil, nil
	begun := f.progress.begun
	f.wg.Go(func() {
		if err := f.stopWork(ctx, begun); err != nil {
			f.failed <- err
		}
	})
}

// stopWork withdraws a pending prompt, because the session works for another client then. If the prompt's own work has
// begun, it interrupts the session.
func (r *runner) stopWork(ctx context.Context, begun bool) error {
	ctx, cancel := context.WithTimeout(ctx, interruptTimeout)
	defer cancel()
	if !begun {
		err := r.conn.API.Inbox().Withdraw(ctx, r.plan.id, r.plan.message)
		if !errors.Is(err, &session.Error{Code: session.CodeConflict}) { // promoted meanwhile
			return err
		}
	}
	return r.conn.API.Interrupt(ctx, r.plan.id)
}

// noteStopping says what Ctrl-C does.
func (r *runner) noteStopping() {
	if r.progress.begun {
		r.view.ShowNote("interrupting; press Ctrl-C again to leave at once")
		return
	}
	r.view.ShowNote("withdrawing the prompt; press Ctrl-C again to leave at once")
}

// onIdle handles an idle session: the work is done, or was left by its process and is resumed, in a goroutine that
// ends with sctx.
func (f *sessionWatch) onIdle(ctx, sctx context.Context, err error) (done bool, _ error) {
	if err == nil {
		err = f.showRemaining(ctx)
		f.handleTasks(f.tasks.Watch(sctx, f.conn.API)...)
	}
	if err != nil || f.stopped != 0 || f.progress.isComplete() {
		return true, err
	}
	goOn, err := f.resumeLeftWork()
	if err == nil {
		f.waitAside(sctx, goOn)
	}
	return false, err
}

// resumeLeftWork returns a call that continues work which an idle session has left: its owner was replaced by one that
// does not pick up the work of others. It gives up after three calls without progress.
func (r *runner) resumeLeftWork() (func(context.Context) error, error) {
	const most = 3
	if r.resumedAt != r.progress.cursor {
		r.resumes, r.resumedAt = 0, r.progress.cursor
	}
	if r.resumes++; r.resumes > most {
		return nil, errors.New("the session stopped before the work was done")
	}
	c, id := r.conn.API, r.plan.id
	if r.progress.begun || r.resumes == most { // the last one hears why the work ends, where that cannot be recorded
		return func(ctx context.Context) error { return c.Resume(ctx, id) }, nil
	}
	again := r.promptRequest()
	return func(ctx context.Context) error {
		if _, err := c.Prompt(ctx, id, again); err != nil &&
			!errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			return err
		}
		return c.Wait(ctx, id)
	}, nil
}

// interruptTimeout bounds how long an interrupt may take to be recorded.
const interruptTimeout = 20 * time.Second

// timeoutTimer fires when --timeout has passed.
func (r *runner) timeoutTimer() <-chan time.Time {
	if r.plan.timeout == 0 {
		return nil
	}
	return time.After(time.Until(r.started.Add(r.plan.timeout)))
}

// showRemaining shows the events that the stream had not delivered when the session became idle.
func (r *runner) showRemaining(ctx context.Context) error {
	for {
		h, err := r.conn.API.History(ctx, r.plan.id, r.progress.cursor, 0)
		if err != nil {
			return err
		}
		for i := range h.Data {
			r.showUpdate(api.Update{Event: &h.Data[i]})
		}
		if !h.HasMore || len(h.Data) == 0 || r.progress.over {
			return nil
		}
	}
}
