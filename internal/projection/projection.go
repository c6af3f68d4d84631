// Package projection writes the rows that an event means, inside the event's own transaction. What an event means is
// said in session (Session.Apply, Begin, Assistant.Apply); this package only loads, folds and stores.
//
// Folding a whole log into an empty store gives the same rows, byte for byte, as the live session had (spec/v2 EV-15).
// Saved approvals are the exception: they belong to the project and can be revoked outside any session.
package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Batch writes the rows of events that are committed together: a turn that several of them change is read once and
// written once, by Flush.
type Batch struct {
	tx   store.Tx
	turn *turn // nil if no turn is held
}

// turn is one that a batch is changing.
type turn struct {
	session session.ID
	message *session.Assistant
	through int64 // seq of the newest event that was applied to it
	changed bool
}

// NewBatch returns an empty batch on tx.
func NewBatch(tx store.Tx) *Batch { return &Batch{tx: tx} }

// Apply writes the rows of one event on its own.
func Apply(tx store.Tx, e session.Event) error {
	b := NewBatch(tx)
	if err := b.Apply(e); err != nil {
		return err
	}
	return b.Flush()
}

// Apply writes the rows of one event, but for those that wait for Flush. The event is not yet inserted: the session's
// head is still e.Seq-1. An error means that nothing of the batch may be committed.
func (b *Batch) Apply(e session.Event) error {
	if b.turn != nil && b.turn.message.ID != session.Turn(e.Data) {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	steps := []func(store.Tx, session.Event) error{
		applySession, applyInbox, func(_ store.Tx, e session.Event) error { return b.applyMessage(e) }, applyEpoch, applyAsk,
	}
	for _, step := range steps {
		if err := step(b.tx, e); err != nil {
			return fmt.Errorf("project %s: %w", e.Describe(), err)
		}
	}
	return nil
}

// Flush writes what waits.
func (b *Batch) Flush() error {
	t := b.turn
	b.turn = nil
	if t == nil || !t.changed {
		return nil
	}
	if err := b.tx.PutMessage(t.session, t.message, t.through); err != nil {
		return fmt.Errorf("project %s: %w", t.session, err)
	}
	return nil
}

func applySession(tx store.Tx, e session.Event) error {
	if _, ok := e.Data.(*session.Created); !ok && !touchesSession(e.Data) {
		return nil
	}
	s, ok, err := tx.Session(e.SessionID)
	if err != nil {
		return err
	}
	created, first := e.Data.(*session.Created)
	switch {
	case first && ok:
		return session.Conflict("session", string(e.SessionID), "exists already")
	case first:
		if created.Info.ID != e.SessionID {
			return fmt.Errorf("the event creates session %s", created.Info.ID)
		}
		s = &session.Session{}
	case !ok:
		return session.NotFound("session", string(e.SessionID))
	}
	if !s.Apply(e.Data) {
		return nil
	}
	return tx.PutSession(s)
}

// touchesSession keeps the hot kinds (deltas of a turn) from reading the row for nothing.
func touchesSession(d session.EventData) bool {
	switch d.(type) {
	case *session.TextStarted, *session.TextEnded, *session.ReasoningStarted, *session.ReasoningEnded, *session.ToolInputStarted,
		*session.ToolInputEnded, *session.ToolCalled, *session.ToolProgress, *session.ToolSuccess, *session.ToolFailed,
		*session.ItemCheckpointed, *session.MessageImported, *session.Unknown:
		return false
	default:
		return true
	}
}

// mark keeps the flag by which a restart finds sessions with work to do: set when work is promised, cleared when a
// turn ends, well or badly, with nothing to follow, and cleared by a user's stop, after which nothing continues by
// itself.
func mark(tx store.Tx, e session.Event, a *session.Assistant) error {
	switch d := e.Data.(type) {
	case *session.PromptAdmitted:
		if d.Hold {
			return nil
		}
		return tx.SetUnfinished(e.SessionID, true)
	case *session.Prompted, *session.StepStarted, *session.ShellStarted:
		return tx.SetUnfinished(e.SessionID, true)
	case *session.StepFailed:
		return stopped(tx, e.SessionID, d.Error.Reason)
	case *session.Interrupted:
		return stopped(tx, e.SessionID, d.Error.Reason)
	case *session.JobStarted:
		return tx.SetUnfinished(e.SessionID, true)
	case *session.InputWithdrawn, *session.JobEnded:
		return withdrawn(tx, e.SessionID)
	case *session.StepEnded:
		if a != nil && Continues(a) {
			return nil
		}
		return promised(tx, e.SessionID)
	default:
		return nil
	}
}

// withdrawn clears the flag when the prompt that was taken back, or the job or the command of the user's that ended, was all
// that there was to do.
func withdrawn(tx store.Tx, id session.ID) error {
	u, asked, err := tx.NewestOf(id, session.TypeUser)
	if err != nil {
		return err
	}
	m, answered, err := tx.NewestOf(id, session.TypeAssistant)
	if err != nil || (asked && !answered) || (asked && u.Meta().Seq > m.Meta().Seq) {
		return err
	}
	if a, ok := m.(*session.Assistant); ok {
		cut := a.Error != nil && a.Error.Reason == session.ReasonInterrupted
		if a.Open() || cut || (a.Error == nil && Continues(a)) {
			return nil
		}
	}
	return promised(tx, id)
}

// stopped is what the end of work for the reason means for a restart.
func stopped(tx store.Tx, id session.ID, why session.Reason) error {
	switch why {
	case session.ReasonInterrupted: // the process stopped, not the user: a restart goes on
		return nil
	case session.ReasonAborted, session.ReasonDenied, session.ReasonBudget:
		return done(tx, id)
	default:
		return promised(tx, id)
	}
}

// promised clears the flag unless a pending prompt waits to be worked on.
func promised(tx store.Tx, id session.ID) error {
	pending, err := tx.Pending(id, "", 0)
	if err != nil {
		return err
	}
	for _, in := range pending {
		if !in.Hold {
			return nil
		}
	}
	return done(tx, id)
}

// done clears the flag unless a job runs, whose end a restart has to record.
func done(tx store.Tx, id session.ID) error {
	s, ok, err := tx.Session(id)
	if err != nil || !ok || s.RunningJobs() {
		return err
	}
	return tx.SetUnfinished(id, false)
}

// Continues reports whether a completed turn calls for another: the provider paused in it, its answer has not the form
// that was asked for, or it made local calls, and not with its last step.
func Continues(a *session.Assistant) bool {
	switch {
	case a.Structured != nil:
		return false
	case a.Finish == session.FinishPaused, session.Unformed(a.Finish):
		return true
	}
	for _, t := range a.Tools() {
		last := t.State.Error != nil && t.State.Error.Reason == session.ReasonSteps
		if !last && (t.Provider == nil || !t.Provider.Executed) {
			return true
		}
	}
	return false
}
