package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// drain is one process-local span of work on one session. It belongs to one goroutine.
type drain struct {
	*Engine
	id         session.ID
	step       int             // the next turn's number in the agent's allowance; 1 after input was promoted
	started    time.Time       // of the work on the newest input, for wall-clock budgets
	tries      ledger          // attempts of the current turn
	unfinished int             // answers in a row that the provider wants to go on with
	titler     *location.Model // who is asked for the session's title at this turn; nil: its prompt is the title, or it has one
	place      place
	begun      bool         // it has worked: what it leaves when it fails is what a restart finds
	cut        interruption // what left open what it finds open
}

// drain is what the coordinator runs: wait for a place, then work.
func (e *Engine) drain(ctx context.Context, id session.ID, f force) error {
	d := &drain{Engine: e, id: id, started: e.now(), place: place{all: e.working}, cut: byRestart}
	if err := d.place.take(ctx, func() { e.statuses.set(e, id, Status{Type: StatusQueued}) }); err != nil {
		return d.leave(ctx, context.Cause(ctx))
	}
	defer d.place.leave()
	err := d.persist(ctx, f)
	if err != nil && !errors.Is(err, cause.ErrDeclined) && context.Cause(ctx) == nil {
		e.logger.Warn("drain failed", "session", id, "error", err)
	}
	return err
}

// run promotes and takes turns until nothing is left to do (spec/v2 §10.1).
func (d *drain) run(ctx context.Context, f force) error {
	next, err := d.eligible(context.WithoutCancel(ctx))
	if err != nil || (f == unforced && next == "") {
		return err
	}
	d.statuses.set(d.Engine, d.id, Status{Type: StatusBusy})
	if f, err = d.recover(ctx, f); err != nil {
		return d.leave(ctx, err)
	}
	if next == session.Queue && f == restarted {
		next = "" // what was begun comes before what is queued
	}
	for f != unforced || next != "" {
		if err := d.work(ctx, next, f); err != nil {
			return d.leave(ctx, err)
		}
		f = unforced
		if next, err = d.eligible(ctx); err != nil {
			return err
		}
	}
	return nil
}

// work takes turns until the model is done and no steer waits.
func (d *drain) work(ctx context.Context, promotion session.Delivery, f force) error {
	d.begun, d.step, d.tries = true, 1, ledger{}
	if f == restarted {
		if err := d.resume(ctx); err != nil {
			return err
		}
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		more, err := d.turn(ctx, promotion)
		if err != nil {
			return err
		}
		promotion = session.Steer
		if more {
			continue
		}
		if next, err := d.eligible(ctx); err != nil || next != session.Steer {
			return err
		}
	}
}

// eligible says what may be promoted at a boundary where nothing continues: steers first, else one queued prompt.
func (d *drain) eligible(ctx context.Context) (next session.Delivery, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	err = d.store.View(ctx, func(r store.Reader) error {
		for _, delivery := range session.PromotionOrder() {
			ins, err := store.PendingInputs(r, d.id, delivery, 1)
			if err != nil {
				return err
			}
			if len(ins) > 0 {
				next = delivery
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("look into the inbox of %s: %w", d.id, err)
	}
	return next, nil
}

// leave records, where nothing else does, that the user stopped work that would otherwise continue by itself.
func (d *drain) leave(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), cause.ErrInterrupted) {
		return err
	}
	clean := context.WithoutCancel(ctx)
	if _, rerr := d.recover(ctx, unforced); rerr != nil && !errors.Is(rerr, cause.ErrInterrupted) {
		return rerr
	}
	h, herr := d.history(clean)
	if herr != nil {
		return herr
	}
	pending, perr := d.Pending(clean, d.id)
	if perr != nil || !session.ResumesByItself(h.Messages(), pending) {
		return firstError(perr, err)
	}
	fact := &session.Interrupted{Error: *session.Fail(session.ReasonAborted, "the user interrupted the session")}
	if aerr := d.fact(clean, d.id, fact); aerr != nil {
		return aerr
	}
	return err
}

// history returns the session's history as of now.
func (d *drain) history(ctx context.Context) (h *history.History, err error) {
	err = d.store.View(ctx, func(r store.Reader) error {
		s, err := journal.FindSession(r, d.id)
		if err == nil {
			h, err = d.histories.readHistory(r, s)
		}
		return err
	})
	if err != nil {
		d.histories.Delete(d.id)
		return nil, err
	}
	return h, nil
}

// newestPrompt returns the newest prompt of the session, also if a compaction has hidden it from the model.
func (d *drain) newestPrompt(ctx context.Context) (id session.MessageID, err error) {
	err = d.store.View(ctx, func(r store.Reader) error {
		m, ok, err := store.NewestMessage(r, d.id, session.TypeUser)
		if ok {
			id = m.Meta().ID
		}
		return err
	})
	return id, err
}
