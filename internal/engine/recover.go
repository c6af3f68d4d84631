package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// recoverSession ends what the drain finds open, before anything else happens in the session, and brings start.history
// up to date. It returns mode, or drainPending after a restart that finds no turn to make. No tool runs twice: a call
// that had started fails with its outcome unknown; a call that still waits for a reply has done nothing, and waits on
// under the same id.
//
// ctx ends the waiting for replies only: what was cut off is ended even if the user stops the session meanwhile.
func (d *drain) recoverSession(ctx context.Context, mode drainMode, start *drainStart) (drainMode, error) {
	open := start.history.OpenTurns()
	changed, err := d.closeOpen(ctx, start, open)
	if err != nil {
		return drainPending, err
	}
	if ctx.Err() != nil {
		return drainPending, context.Cause(ctx)
	}
	if changed {
		if start.history, err = d.readHistory(ctx); err != nil {
			return drainPending, err
		}
	}
	if mode != drainRestart {
		return mode, nil
	}
	if !start.history.NeedsTurn() {
		return drainPending, nil
	}
	if again, err := d.recordResumption(ctx, start.history, len(open) > 0); !again || err != nil {
		return drainPending, err
	}
	return mode, nil
}

// closeOpen ends the jobs, shell commands and turns that an earlier process left open. It reports whether it changed
// messages.
func (d *drain) closeOpen(ctx context.Context, start *drainStart, open []*session.Assistant) (changed bool, err error) {
	clean := context.WithoutCancel(ctx)
	// Jobs first: a task that ended may be the result that an open call waits for.
	if start.orphanedJobs {
		if err := d.engine.Jobs.CloseOrphans(clean, d.id, !d.keepAsks); err != nil {
			return false, err
		}
	}
	if start.compacting != nil {
		if err := d.engine.shrinker.AbandonCompaction(clean, d.id, start.compacting, d.cutBy.turn); err != nil {
			return false, err
		}
	}
	// Shell commands keep what they have printed.
	shells := start.history.OpenShells()
	for _, sh := range shells {
		fact := &session.ShellEnded{
			CallID: sh.CallID, Output: admit.MarkAborted(sh.Output, turnlog.ErrShutdown),
			ShellEnd: session.ShellEnd{Stopped: true},
		}
		if err := d.engine.journal.AppendFacts(clean, d.id, fact); err != nil {
			return false, err
		}
	}
	// Turns are ended, or resumed where a call waits for a reply.
	for _, a := range open {
		if err := d.repairTurn(ctx, start.history, a); err != nil {
			return false, err
		}
	}
	return len(shells)+len(open) > 0, nil
}

// repairTurn ends an open turn. Calls that wait for a reply or a subagent are resumed; the turn then ends as its answer
// says.
func (d *drain) repairTurn(ctx context.Context, h *history.History, a *session.Assistant) error {
	clean := context.WithoutCancel(ctx)
	// Read what the turn left, and reopen it with the little that is known without its location.
	state, err := d.readOpenTurn(clean, a)
	if err != nil {
		return err
	}
	if d.restricted = d.restricted || state.restricted; d.restricted {
		state.session.RemoveGrants()
	}
	input := &turnInput{
		session: state.session, scope: &scope.Scope{}, agent: session.Agent{ID: a.Agent},
		model: &scope.Model{Ref: a.Model}, history: h,
	}
	if a.Subtasks {
		input.subtasks = findSubtasks(h, a)
	}
	t := d.reopenTurn(input, a.ID, state.answer)
	// Decide: a turn is resumed only if its answer was complete and a call still waits; else it fails.
	isResumable := len(state.waiting) > 0 && state.answer != nil
	if isResumable && d.keepAsks {
		return nil
	}
	if !isResumable || ctx.Err() != nil {
		return d.abandonTurn(clean, t, a, state)
	}
	// Resuming needs the location, with its tools and rules. Without it the turn fails as well.
	// The calls were decided on for the place where the project was: after a move the model decides again.
	scope, moved, release, err := scope.OpenForWork(ctx, d.engine.locations, state.session)
	if err != nil {
		return d.abandonTurn(clean, t, a, state)
	}
	defer release()
	if moved {
		return d.abandonTurn(clean, t, a, state)
	}
	input.scope, input.agent = scope, scope.FindAgent(a.Agent)
	if a.Subtasks {
		input.agent = scope.FindAgent(state.session.Agent) // a is the turn of a subagent, called with the session's rights
	}
	t.changes = d.engine.changes.NewStep(scope.Files, d.id, input.prompt)
	input.extensions = scope.Chain.Begin()
	if input.rights, err = d.engine.Asks.CollectRules(ctx, scope, state.session, input.agent); err != nil {
		return d.abandonTurn(clean, t, a, state)
	}
	input.recovery, input.restricted = state.recovery, d.restricted
	if err := input.setPolicy(state.policy); err != nil {
		return err
	}
	// Fail the calls that had started: their effect is unknown, and no tool runs twice.
	if err := t.recorder.AbandonTurn(clean, a, d.interruptionFailure(), state.waiting); err != nil {
		return err
	}
	// Run those that wait.
	var calls []*turnlog.Call
	for _, c := range a.Tools() {
		if state.waiting[c.PartID] {
			calls = append(calls, &turnlog.Call{
				PartID: c.PartID, ID: c.ID, Name: c.Name, Input: c.State.Input, Ran: time.UnixMilli(c.Time.Ran),
				Extensions: c.Extensions,
			})
		}
	}
	_, err = d.settleTurn(ctx, t, calls)
	return err
}

// openTurnState holds the state of an open turn beside its message.
type openTurnState struct {
	session *session.Session
	waiting map[session.PartID]bool // calls that wait for a reply or a subagent
	answer  *session.Answer         // how the provider ended the turn, nil if it did not
	asks    []session.AskID         // pending asks of the turn, those of external callers included
	policy  session.AskPolicy       // of the newest prompt
	// recovery is that of the newest prompt.
	recovery session.Recovery
	// restricted is that of the work that the turn is of.
	restricted bool
}

// readOpenTurn reads, in one transaction, what decides whether the open turn a can be resumed.
func (d *drain) readOpenTurn(ctx context.Context, a *session.Assistant) (*openTurnState, error) {
	state := &openTurnState{waiting: map[session.PartID]bool{}}
	now := &boundary{}
	err := d.viewSession(ctx, func(r store.Reader) (err error) {
		if now.session, err = store.FindSession(r, d.id); err != nil {
			return err
		}
		// The prompt that the turn answers decides its rights and its ask policy.
		if err := d.reader.fillPrompt(r, now); err != nil {
			return err
		}
		state.session, state.policy, state.recovery, state.restricted = now.session, now.policy, now.recovery, now.restricted
		// Calls wait if an ask of theirs is pending, or if they are tasks that have begun.
		asks, err := r.Asks(store.AskQuery{SessionID: d.id, Pending: true})
		if err != nil {
			return err
		}
		for _, row := range asks {
			if row.Source == nil || row.Source.MessageID != a.ID {
				continue
			}
			state.asks = append(state.asks, row.ID)
			if part := ask.PartOf(row.PendingAsk); part != "" {
				state.waiting[part] = true
			}
		}
		for _, c := range a.Tools() {
			if c.Name == tool.NameTask && c.State.Status == session.ToolRunning {
				state.waiting[c.PartID] = true
			}
		}
		// The answer was complete if its calls were recorded: the event keeps how the provider ended it.
		called, err := eventlog.DecodeAll(r.Events(d.id, a.Seq, 0, session.KindToolCalled))
		for _, e := range called {
			if e.Private != nil && e.Private.Answer != nil && session.ChangedTurn(e.Data) == a.ID {
				state.answer = e.Private.Answer
			}
		}
		return err
	})
	return state, err
}

func (d *drain) interruptionFailure() *session.Failure {
	return session.Fail(session.ReasonInterrupted, d.cutBy.turn+" during this turn")
}

// abandonTurn fails the open turn and rejects its pending asks.
func (d *drain) abandonTurn(ctx context.Context, t *turn, a *session.Assistant, state *openTurnState) error {
	var replies []eventlog.Draft
	for _, id := range state.asks {
		replies = append(replies, rejectStopped(id))
	}
	return t.recorder.AbandonTurn(ctx, a, d.interruptionFailure(), nil, replies...)
}

// rejectStopped returns the reply to an ask of work that was stopped.
func rejectStopped(id session.AskID) eventlog.Draft {
	return eventlog.Draft{Data: &session.PermissionReplied{
		AskID: id, Reply: session.ReplyReject, Message: "the work was stopped", By: session.ByInterrupt,
	}}
}

// recordResumption counts the resumptions since the newest progress and records another one. After a bounded number it
// gives up and reports false, so that an input which kills the process cannot do so forever. Giving up is an answer:
// the prompts that wait behind that input are worked on.
func (d *drain) recordResumption(ctx context.Context, h *history.History, cutOff bool) (bool, error) {
	// Count the resumptions since the newest progress: a prompt or a turn that ended well.
	var times int
	since := max(h.PromptSeq(), h.AnswerSeq())
	err := d.engine.journal.Store.View(ctx, func(r store.Reader) error {
		retried, err := eventlog.DecodeAll(r.Events(d.id, since, 1000, session.KindRetried))
		for _, e := range retried {
			if fact, ok := e.Data.(*session.Retried); ok && fact.Error.Metadata["cause"] != "" {
				times++
			}
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if times >= d.engine.limits.Recoveries {
		return false, d.giveUp(ctx, times+1)
	}
	// Record this one before the work begins, so that it counts even if the work ends the process.
	message := d.cutBy.resumed + " before the model had answered"
	if cutOff {
		message = d.cutBy.resumed + " while the model was at work"
	}
	fact := &session.Retried{Attempt: times + 1, Error: session.RetryError{
		Message: message, IsRetryable: true, Metadata: map[string]string{"cause": d.cutBy.cause},
	}}
	draft := eventlog.Draft{Data: fact}
	_, err = d.engine.journal.AppendDrafts(context.WithoutCancel(ctx), d.id, store.Durable, draft)
	return true, err
}

// giveUp answers the newest input with a failed turn.
func (d *drain) giveUp(ctx context.Context, times int) error {
	s, err := d.engine.journal.ReadSession(ctx, d.id)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("the work was cut off %d times %s; it is not retried automatically: prompt the session to continue",
		times, d.cutBy.by)
	return d.failWithoutRequest(ctx, emptyInput(s), endOfFailed(session.Fail(session.ReasonGivenUp, why), nil))
}

// restoreWork counts the steps that the work on the newest input has had, and the attempts since the newest answer, so
// that a restart grants no more of them, and restricts the rest of the work if what was done is restricted. It waits
// for what is left of the wait before the next attempt. The time of the attempts starts over: nothing was tried while
// no process ran.
func (d *drain) restoreWork(ctx context.Context) error {
	var next int64
	var s *session.Session
	err := d.engine.journal.Store.View(ctx, func(r store.Reader) (err error) {
		// Restrict the work as it was.
		if s, err = store.FindSession(r, d.id); err != nil {
			return err
		}
		now := &boundary{session: s}
		if err := d.reader.fillPrompt(r, now); err != nil {
			return err
		}
		d.restricted = d.restricted || now.restricted
		h := now.history
		// Fold the events since the newest prompt, and since the newest answer if that is older.
		input := h.PromptSeq()
		events, err := eventlog.DecodeAll(r.Events(
			d.id, min(input, h.AnswerSeq()), 0, session.KindStepEnded, session.KindStepFailed,
			session.KindRetried, session.KindModelSwitched, session.KindPrompted, session.KindInterrupted,
		))
		if err != nil {
			return err
		}
		var done turnlog.WorkCount
		for _, e := range events {
			done.AddEvent(e.Data, e.Seq > input)
		}
		// Later steps continue the count; attempts continue with their wait.
		d.step += done.Steps
		d.retries, next = done.Open()
		return nil
	})
	if err != nil || next <= d.engine.journal.Now().UnixMilli() {
		return err
	}
	return d.waitUntil(ctx, s, Status{Next: next})
}
