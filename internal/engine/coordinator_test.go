package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// desk is a coordinator whose drains report their start and end when the test says so.
type desk struct {
	*coordinator
	begun chan begunDrain
	rests atomic.Int64 // calls of onIdle
}

type begunDrain struct {
	id   session.ID
	mode drainMode
	ctx  context.Context
	end  chan error // send to end it; what it returns
}

func newDesk() *desk {
	d := &desk{begun: make(chan begunDrain, 100)}
	d.coordinator = newCoordinator(func(ctx context.Context, id session.ID, mode drainMode) error {
		b := begunDrain{id, mode, ctx, make(chan error, 1)}
		d.begun <- b
		return <-b.end
	}, func(session.ID) { d.rests.Add(1) }, slog.New(slog.DiscardHandler))
	return d
}

func (d *desk) next(t *testing.T) begunDrain {
	t.Helper()
	synctest.Wait()
	select {
	case b := <-d.begun:
		return b
	default:
		t.Fatal("no drain started")
		panic("unreachable")
	}
}

func (d *desk) quiet(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case b := <-d.begun:
		t.Errorf("unexpected drain of %s (%v)", b.id, b.mode)
		b.end <- nil
	default:
	}
}

// later runs f in a goroutine and returns a function that reports whether it has returned, and its result.
func later(f func() error) func() (error, bool) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() (error, bool) {
		synctest.Wait()
		select {
		case err := <-done:
			return err, true
		default:
			return nil, false
		}
	}
}

var errTest = errors.New("the drain failed")

// TestCoordinator has a case for each of the rules (RC-1) to (RC-9), (RC-11) and (RC-12).
func TestCoordinator(t *testing.T) {
	const a, b = session.ID("ses_a"), session.ID("ses_b")
	bg := context.Background()
	ended := func(t *testing.T, what string, wait func() (error, bool), want error) {
		t.Helper()
		if err, done := wait(); !done || !errors.Is(err, want) {
			t.Errorf("%s ended %v with %v, want %v", what, done, err, want)
		}
	}
	running := func(t *testing.T, what string, wait func() (error, bool)) {
		t.Helper()
		if err, done := wait(); done {
			t.Errorf("%s ended with %v", what, err)
		}
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, d *desk)
	}{
		{"RC-1 run starts one forced drain and shares its outcome", func(t *testing.T, d *desk) {
			one, two := later(func() error { return d.run(bg, a) }), later(func() error { return d.run(bg, a) })
			x := d.next(t)
			if x.mode != drainForced {
				t.Error("the drain is not forced")
			}
			d.quiet(t)
			running(t, "run", one)
			x.end <- errTest
			ended(t, "the first run", one, errTest)
			ended(t, "the second run", two, errTest)
			d.quiet(t)
		}},
		{"onIdle runs once the session is idle, not between drains", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			d.wake(a, drainPending)
			x.end <- nil
			x = d.next(t)
			stop := later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) })
			running(t, "interrupt", stop)
			d.wake(a, drainPending) // is served afterwards
			x.end <- context.Cause(x.ctx)
			x = d.next(t)
			if n := d.rests.Load(); n != 0 {
				t.Errorf("onIdle ran %d times while the session was active", n)
			}
			x.end <- nil
			d.quiet(t)
			if n := d.rests.Load(); n != 1 {
				t.Errorf("onIdle ran %d times, want 1", n)
			}
		}},
		{"RC-2 run joins a drain that a wake started", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			one := later(func() error { return d.run(bg, a) })
			d.quiet(t)
			x.end <- nil
			ended(t, "run", one, nil)
			d.quiet(t)
		}},
		{"RC-3 run waits out a drain that is stopping and then starts its own", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			stop := later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) })
			running(t, "interrupt", stop)
			one := later(func() error { return d.run(bg, a) })
			d.quiet(t)
			x.end <- context.Cause(x.ctx)
			y := d.next(t)
			if y.mode != drainForced || y.ctx.Err() != nil {
				t.Errorf("the new drain: %v, %v", y.mode, y.ctx.Err())
			}
			ended(t, "interrupt", stop, nil)
			running(t, "run", one)
			y.end <- nil
			ended(t, "run", one, nil)
		}},
		{"RC-4 wakes coalesce", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			for range 5 {
				d.wake(a, drainPending)
			}
			d.quiet(t)
			x.end <- nil
			y := d.next(t)
			y.end <- nil
			d.quiet(t)
		}},
		{"RC-5 joiners wait for the follow-up too", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			one := later(func() error { return d.run(bg, a) })
			running(t, "run", one)
			d.wake(a, drainPending)
			x.end <- nil
			y := d.next(t)
			if y.mode != drainPending {
				t.Error("the follow-up is forced")
			}
			running(t, "run", one)
			y.end <- errTest
			ended(t, "run", one, errTest)
		}},
		{"RC-6 a wake that races with a failure has its follow-up; joiners see the failure", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			one := later(func() error { return d.run(bg, a) })
			running(t, "run", one)
			d.wake(a, drainPending)
			x.end <- errTest
			y := d.next(t)
			ended(t, "run", one, errTest)
			y.end <- nil
			d.quiet(t)
		}},
		{"RC-7 interrupting what is idle does nothing", func(t *testing.T, d *desk) {
			ended(t, "interrupt", later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) }), nil)
			d.quiet(t)
		}},
		{"RC-7 interrupt cancels with its cause and waits", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			stop := later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) })
			running(t, "interrupt", stop)
			if !errors.Is(context.Cause(x.ctx), turnlog.ErrInterrupted) {
				t.Error(context.Cause(x.ctx))
			}
			x.end <- turnlog.ErrInterrupted
			ended(t, "interrupt", stop, nil)
			d.quiet(t)
		}},
		{"RC-7 a wake after the interrupt runs as successor", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			stop := later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) })
			running(t, "interrupt", stop)
			d.wake(a, drainPending)
			x.end <- nil // even if it ends well
			y := d.next(t)
			ended(t, "interrupt", stop, nil)
			if y.ctx.Err() != nil {
				t.Error("the successor is interrupted too")
			}
			y.end <- nil
		}},
		{"RC-8 a waiter that leaves does not stop the drain", func(t *testing.T, d *desk) {
			ctx, cancel := context.WithCancel(bg)
			one, two := later(func() error { return d.run(ctx, a) }), later(func() error { return d.run(bg, a) })
			x := d.next(t)
			cancel()
			ended(t, "the waiter", one, context.Canceled)
			if x.ctx.Err() != nil {
				t.Error("the drain was cancelled")
			}
			x.end <- nil
			ended(t, "the other", two, nil)
		}},
		{"RC-9 sessions do not wait for each other", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			d.wake(b, drainPending)
			x, y := d.next(t), d.next(t)
			if x.id == y.id || len(d.listActive()) != 2 {
				t.Error(x.id, y.id, d.listActive())
			}
			x.end <- nil
			y.end <- nil
		}},
		{"RC-11 a drain that ended is active no more", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			d.next(t).end <- errTest
			d.quiet(t)
			if ids := d.listActive(); len(ids) != 0 {
				t.Error(ids)
			}
		}},
		{"RC-11 closing cancels all and waits; nothing starts afterwards", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			d.wake(b, drainPending)
			x, y := d.next(t), d.next(t)
			d.wake(a, drainPending)
			stop := later(func() error { return d.close(bg) })
			running(t, "close", stop)
			d.wake(b, drainPending)
			x.end <- context.Cause(x.ctx)
			running(t, "close", stop)
			y.end <- context.Cause(y.ctx)
			ended(t, "close", stop, nil)
			d.wake(a, drainForced)
			ended(t, "run", later(func() error { return d.run(bg, a) }), turnlog.ErrShutdown)
			d.quiet(t)
		}},
		{"RC-11 closing gives up with its context", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			if err := d.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			x.end <- nil
		}},
		{"RC-12 an interrupt forgets the wakes before it", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			d.wake(a, drainPending)
			stop := later(func() error { return d.interrupt(bg, a, turnlog.ErrInterrupted) })
			running(t, "interrupt", stop)
			x.end <- turnlog.ErrInterrupted
			ended(t, "interrupt", stop, nil)
			d.quiet(t)
		}},
		{"a recovery that finds a drain at work follows it", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			d.wake(a, drainRestart)
			d.wake(a, drainPending)
			x.end <- nil
			y := d.next(t)
			if y.mode != drainRestart {
				t.Errorf("the follow-up is %v, want a resuming one", y.mode)
			}
			y.end <- nil
			d.quiet(t)
		}},
		{"wait returns when all is done, follow-ups included", func(t *testing.T, d *desk) {
			d.wake(a, drainPending)
			x := d.next(t)
			one := later(func() error { return d.wait(bg, a) })
			d.wake(a, drainPending)
			x.end <- errTest
			y := d.next(t)
			running(t, "wait", one)
			y.end <- nil
			ended(t, "wait", one, nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.test(t, newDesk()) })
		})
	}
}

// A drain that wakes its own session does not grow the stack (RC-10).
func TestCoordinatorSelfWake(t *testing.T) {
	n := 0
	var c *coordinator
	c = newCoordinator(func(_ context.Context, id session.ID, _ drainMode) error {
		if n++; n < 100_000 {
			c.wake(id, drainPending)
		}
		return nil
	}, func(session.ID) {}, slog.New(slog.DiscardHandler))
	if err := c.run(t.Context(), "ses_a"); err != nil || n != 100_000 {
		t.Errorf("%d drains, %v", n, err)
	}
}

// A panic of a drain fails the callers that joined it, and no other session (RC-13).
func TestCoordinatorPanic(t *testing.T) {
	c := newCoordinator(func(_ context.Context, id session.ID, _ drainMode) error {
		if id == "ses_bad" {
			panic("boom")
		}
		return nil
	}, func(session.ID) {}, slog.New(slog.DiscardHandler))
	if err := c.run(t.Context(), "ses_bad"); err == nil || len(c.listActive()) != 0 {
		t.Errorf("%v, %v", err, c.listActive())
	}
	if err := c.run(t.Context(), "ses_good"); err != nil {
		t.Error(err)
	}
}

// All operations at once, ten thousand times: never two drains of a session, no lost wake, no blocked caller.
func TestCoordinatorStress(t *testing.T) {
	const rounds, sessions = 10_000, 3
	var working, inbox [sessions]atomic.Int64
	index := func(id session.ID) int { return int(id[4] - '0') }
	c := newCoordinator(func(ctx context.Context, id session.ID, _ drainMode) error {
		i := index(id)
		if working[i].Add(1) != 1 {
			t.Error("two drains of one session")
		}
		defer working[i].Add(-1)
		inbox[i].Store(0) // promotes what was admitted before
		if rand.IntN(8) == 0 {
			return errTest
		}
		if rand.IntN(500) == 0 {
			panic("boom")
		}
		return ctx.Err()
	}, func(session.ID) {}, slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			for range rounds / 8 {
				i := rng.IntN(sessions)
				id := session.ID(fmt.Sprintf("ses_%d", i))
				switch rng.IntN(10) {
				case 0:
					_ = c.interrupt(context.Background(), id, turnlog.ErrInterrupted)
				case 1, 2:
					_ = c.run(context.Background(), id)
				case 3:
					_ = c.wait(context.Background(), id)
				default:
					inbox[i].Add(1)
					c.wake(id, drainPending)
				}
			}
		})
	}
	wg.Wait()
	for i := range sessions {
		id := session.ID(fmt.Sprintf("ses_%d", i))
		c.wake(id, drainPending)
		_ = c.wait(context.Background(), id)
		if n := inbox[i].Load(); n != 0 {
			t.Errorf("%d prompts of %s were not drained", n, id)
		}
	}
	if err := c.close(context.Background()); err != nil || len(c.listActive()) != 0 {
		t.Error(err, c.listActive())
	}
}
