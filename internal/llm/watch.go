package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

func (c Clocks) limitOf(p Phase) time.Duration {
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

// Watchdog cancels a turn's context when the clock of its current phase, or that of the whole turn, expires. Its
// methods are safe for concurrent use.
type Watchdog struct {
	clocks Clocks
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards the fields below
	phase Phase
	timer *time.Timer
	whole *time.Timer // of the turn; nil without a bound
	done  bool
}

// Watch derives the context of one turn. The connect clock starts now. When a clock expires, the context is cancelled
// with a retryable *Error of class Timeout as its cause. The caller must call Stop.
func Watch(ctx context.Context, clocks Clocks) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watchdog{clocks: clocks, cancel: cancel}
	w.enterPhase(PhaseConnect)
	if clocks.Turn > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.whole = time.AfterFunc(clocks.Turn, func() { w.expirePhase(PhaseTurn, clocks.Turn) })
	}
	return ctx, w
}

// MarkConnected records that the connection is established and the request is being sent: it starts the first-byte
// clock.
func (w *Watchdog) MarkConnected() { w.enterPhase(PhaseFirstByte) }

// MarkByte records that data arrived, headers included: it restarts the silence clock.
func (w *Watchdog) MarkByte() { w.enterPhase(PhaseSilence) }

// Stop stops the clocks and releases the context. Later calls of any method do nothing.
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
	if w.whole != nil {
		w.whole.Stop()
	}
	w.cancel(context.Canceled)
}

func (w *Watchdog) enterPhase(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || (p == PhaseFirstByte && w.phase == PhaseSilence) {
		return
	}
	limit := w.clocks.limitOf(p)
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
		w.timer = time.AfterFunc(limit, func() { w.expirePhase(p, limit) })
	}
}

func (w *Watchdog) expirePhase(p Phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.phase != p && p != PhaseTurn {
		return
	}
	w.done = true
	what := map[Phase]string{
		PhaseConnect:   "no connection to the provider",
		PhaseFirstByte: "the provider sent no response headers",
		PhaseSilence:   "the provider sent no data",
		PhaseTurn:      "the provider did not complete its answer",
	}[p]
	w.cancel(&Error{Class: Timeout, Phase: p, Message: fmt.Sprintf("%s within %s", what, limit)})
}
