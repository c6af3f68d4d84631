package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Clocks bounds the three waits of a provider turn. A zero field means its default; a negative one, no bound.
// The defaults are those of spec/v2 §28.11.
type Clocks struct {
	Connect   time.Duration // until a connection stands; default 10 s
	FirstByte time.Duration // from then until response headers; default 60 s
	Silence   time.Duration // between two chunks of the body; default 120 s
}

// The defaults of Clocks.
const (
	DefaultConnect   = 10 * time.Second
	DefaultFirstByte = 60 * time.Second
	DefaultSilence   = 120 * time.Second
)

func (c Clocks) of(p Phase) time.Duration {
	pick := func(d, def time.Duration) time.Duration {
		if d == 0 {
			return def
		}
		return d
	}
	switch p {
	case PhaseConnect:
		return pick(c.Connect, DefaultConnect)
	case PhaseFirstByte:
		return pick(c.FirstByte, DefaultFirstByte)
	default:
		return pick(c.Silence, DefaultSilence)
	}
}

// Watchdog cancels a turn's context when the clock of its current phase runs out. Its methods are safe for
// concurrent use.
type Watchdog struct {
	clocks Clocks
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards phase, timer, done
	phase Phase
	timer *time.Timer
	done  bool
}

// Watch derives the context in which one turn runs. The connect clock starts now. When a clock runs out the
// context is cancelled with a retryable *Error of class Timeout as its cause. The caller must call Stop.
func Watch(ctx context.Context, clocks Clocks) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watchdog{clocks: clocks, cancel: cancel}
	w.enter(PhaseConnect)
	return ctx, w
}

// Connected says that a connection stands and the request is under way: the first-byte clock runs from here.
func (w *Watchdog) Connected() { w.enter(PhaseFirstByte) }

// Byte says that something arrived, headers included: the silence clock starts again.
func (w *Watchdog) Byte() { w.enter(PhaseSilence) }

// Stop ends the watch and releases the context. Later calls of any method do nothing.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(context.Canceled)
}

func (w *Watchdog) enter(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || (p == PhaseFirstByte && w.phase == PhaseSilence) {
		return
	}
	limit := w.clocks.of(p)
	if p == w.phase && w.timer != nil && limit > 0 {
		w.timer.Reset(limit)
		return
	}
	w.phase = p
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { w.expire(p, limit) })
	}
}

func (w *Watchdog) expire(p Phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.phase != p {
		return
	}
	w.done = true
	what := map[Phase]string{
		PhaseConnect:   "no connection to the provider",
		PhaseFirstByte: "the provider did not begin to answer",
		PhaseSilence:   "the provider fell silent",
	}[p]
	w.cancel(&Error{Class: Timeout, Phase: p, Message: fmt.Sprintf("%s within %s", what, limit)})
}
