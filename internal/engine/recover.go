package engine

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Recover goes on with every session whose work an earlier process left unfinished. It returns when all are woken; the
// work itself runs like any other.
func (e *Engine) Recover(ctx context.Context) error {
	var ids []session.ID
	err := e.store.View(ctx, func(r store.Reader) (err error) {
		ids, err = r.Unfinished(0)
		return err
	})
	if err != nil {
		return fmt.Errorf("find unfinished sessions: %w", err)
	}
	for _, id := range ids {
		e.coordinator.wake(id, restarted)
	}
	return nil
}

// recover ends what was left open, before anything else happens in the session, and returns what is to be done beside
// what is pending: f, but nothing where a restart finds that the session calls for no turn. No tool is run twice: one that
// had started fails with its outcome unknown; one that still waits for a reply has done nothing and goes on waiting under
// the same id.
//
// What was cut off is ended also when the user stops the session meanwhile: ctx ends the waiting for replies only.
func (d *drain) recover(ctx context.Context, f force) (force, error) {
	clean := context.WithoutCancel(ctx)
	if err := d.Jobs.CloseOrphans(clean, d.id); err != nil {
		return unforced, err
	}
	h, err := d.history(clean)
	if err != nil {
		return unforced, err
	}
	if err := d.endShells(clean, h); err != nil {
		return unforced, err
	}
	cutOff := false
	for _, a := range h.OpenTurns() {
		cutOff = true
		if err := d.repair(ctx, h, a); err != nil {
			return unforced, err
		}
	}
	if ctx.Err() != nil {
		return unforced, context.Cause(ctx)
	}
	if h, err = d.history(ctx); err != nil {
		return unforced, err
	}
	if f != restarted {
		return f, nil
	}
	if !session.NextOf(h.Messages()).NeedsTurn() {
		return unforced, nil
	}
	if more, err := d.resumable(ctx, h, cutOff); !more || err != nil {
		return unforced, err
	}
	return f, nil
}

// progress is the seq behind which nothing was achieved yet: of the newest input, or of the newest turn that ended well.
func progress(ms []session.Message) int64 {
	for i := len(ms) - 1; i >= 0; i-- {
		switch m := ms[i].(type) {
		case *session.User:
			return m.Seq
		case *session.Assistant:
			if !m.Open() && m.Error == nil {
				return m.Seq
			}
		}
	}
	return -1
}

// resumable counts the recoveries since the newest progress and gives up after a bounded number, so that an input that
// kills the process cannot do so for ever. Giving up is an answer: what waits behind that input is worked on.
func (d *drain) resumable(ctx context.Context, h *history.History, cutOff bool) (bool, error) {
	var times int
	since := progress(h.Messages())
	err := d.store.View(ctx, func(r store.Reader) error {
		rows, err := r.Events(d.id, since, 1000, session.KindRetried)
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			if re, ok := e.Data.(*session.Retried); ok && re.Error.Metadata["cause"] != "" {
				times++
			}
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if times >= d.limits.Recoveries {
		return false, d.giveUp(ctx, times+1)
	}
	message := d.cut.resumed + " before the model had answered"
	if cutOff {
		message = d.cut.resumed + " while the model was at work"
	}
	fact := &session.Retried{Attempt: times + 1, Error: session.RetryError{
		Message: message, IsRetryable: true, Metadata: map[string]string{"cause": d.cut.cause},
	}}
	_, err = d.append(context.WithoutCancel(ctx), d.id, store.Durable, eventlog.Draft{Data: fact})
	return true, err
}

// resume counts the steps and the attempts that the work on the newest input has had, so that a restart grants no more.
// The time of the attempts begins anew: nobody tried while nothing ran.
func (d *drain) resume(ctx context.Context) error {
	return d.store.View(ctx, func(r store.Reader) error {
		since := int64(-1)
		if m, ok, err := store.NewestMessage(r, d.id, session.TypeUser); err != nil {
			return err
		} else if ok {
			since = m.Meta().Seq
		}
		rows, err := r.Events(d.id, since, 0, session.KindStepEnded, session.KindStepFailed, session.KindRetried, session.KindModelSwitched)
		if err != nil {
			return err
		}
		spoke := false
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			switch fact := e.Data.(type) {
			case *session.StepEnded:
				d.step++
				d.tries = ledger{}
			case *session.ModelSwitched:
				d.tries = ledger{}
			case *session.StepFailed:
				spoke = true
			case *session.Retried:
				if fact.Error.Metadata["cause"] == "" && fact.Exclude == nil {
					d.tries.enter(spoke)
				}
				spoke = false
			}
		}
		return nil
	})
}

// giveUp answers the newest input with a failed turn.
func (d *drain) giveUp(ctx context.Context, times int) error {
	s, err := d.session(ctx, d.id)
	if err != nil {
		return err
	}
	set := &setting{session: s, scope: &location.Scope{}, agent: session.Agent{ID: s.Agent}}
	why := fmt.Sprintf("the work was cut off %d times %s; it is not tried again by itself", times, d.cut.by)
	return d.failUnstarted(ctx, set, session.Fail(session.ReasonGivenUp, why), nil)
}

// interruption is what cut off the work that is taken up again, in the words for each place that says so.
type interruption struct{ cause, turn, resumed, by string }

// What cuts work off.
var (
	byRestart = interruption{"restart", "cairn was stopped", "cairn was restarted", "by the end of cairn"}
	byStore   = interruption{"store", "the data could not be written", "the data could not be written", "because the data could not be written"}
)

// repair ends an open turn. Calls that wait for a reply are taken up again; the turn then ends as its answer said.
func (d *drain) repair(ctx context.Context, h *history.History, a *session.Assistant) error {
	clean := context.WithoutCancel(ctx)
	waiting, ans, err := d.leftover(clean, a)
	if err != nil {
		return err
	}
	s, err := d.session(clean, d.id)
	if err != nil {
		return err
	}
	set := &setting{session: s, scope: &location.Scope{}, agent: session.Agent{ID: a.Agent}, model: &location.Model{Ref: a.Model}, history: h}
	t := &turn{drain: d, set: set, message: a.ID, recorder: record.ReopenTurn(recorderConfig(d, set, llm.Prefix{}, nil), a.ID, ans)}
	if len(waiting) == 0 || ans == nil || ctx.Err() != nil {
		return t.abandon(clean, a, nil)
	}
	scope, release, err := d.locations.Scope(ctx, s.Location)
	if err != nil {
		return t.abandon(clean, a, nil)
	}
	defer release()
	set.scope, set.agent = scope, scope.FindAgent(a.Agent)
	if set.rights, err = d.Asks.CollectRules(ctx, scope, s, set.agent); err != nil {
		return t.abandon(clean, a, nil)
	}
	if set.policy, err = d.readPolicy(clean, h); err != nil {
		return err
	}
	if err := t.abandon(clean, a, waiting); err != nil {
		return err
	}
	for _, c := range a.Tools() {
		if waiting[c.PartID] {
			rc := &record.Call{PartID: c.PartID, ID: c.ID, Name: c.Name, Input: c.State.Input}
			t.calls = append(t.calls, newCall(rc))
		}
	}
	_, err = t.conclude(ctx)
	return err
}

// leftover finds the calls of an open turn that still wait for a reply, and how the provider had ended the turn.
func (d *drain) leftover(ctx context.Context, a *session.Assistant) (waiting map[session.PartID]bool, ans *session.Answer, err error) {
	waiting = map[session.PartID]bool{}
	err = d.store.View(ctx, func(r store.Reader) error {
		asks, err := r.Asks(store.AskQuery{SessionID: d.id, Pending: true})
		if err != nil {
			return err
		}
		for _, row := range asks {
			if part := ask.PartOf(row.PendingAsk); part != "" && row.Source.MessageID == a.ID {
				waiting[part] = true
			}
		}
		rows, err := r.Events(d.id, a.Seq, 0, session.KindToolCalled)
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			if e.Private != nil && e.Private.Answer != nil && session.ChangedTurn(e.Data) == a.ID {
				ans = e.Private.Answer
			}
		}
		return err
	})
	return waiting, ans, err
}

// abandon ends what is open in the turn: text is kept and marked partial, calls fail. With calls kept, these and the
// turn itself stay open.
func (t *turn) abandon(ctx context.Context, a *session.Assistant, kept map[session.PartID]bool) error {
	why := session.Fail(session.ReasonInterrupted, t.cut.turn+" during this turn")
	var asks []eventlog.Draft
	if len(kept) == 0 {
		var err error
		if asks, err = t.withdrawn(ctx, a); err != nil {
			return err
		}
	}
	return t.recorder.AbandonTurn(ctx, a, why, kept, asks...)
}

// withdrawn answers the asks of a turn that is given up, so that none waits for ever.
func (t *turn) withdrawn(ctx context.Context, a *session.Assistant) (drafts []eventlog.Draft, err error) {
	err = t.store.View(ctx, func(r store.Reader) error {
		asks, err := r.Asks(store.AskQuery{SessionID: t.id, Pending: true})
		for _, ask := range asks {
			if ask.Source != nil && ask.Source.MessageID == a.ID {
				drafts = append(drafts, eventlog.Draft{Data: &session.PermissionReplied{
					AskID: ask.ID, Reply: session.ReplyReject, Message: "the work was stopped", By: session.ByInterrupt,
				}})
			}
		}
		return err
	})
	return drafts, err
}
