package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// settleCalls runs the calls concurrently, within limits, and returns when each has its one settlement, or waits for a
// reply or a subagent across a shutdown. A declined ask stops the other calls.
func (t *turn) settleCalls(ctx context.Context) callOutcome {
	if len(t.calls) == 0 {
		return callOutcome{}
	}
	// Declining one call cancels the others through ctx.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pool := semaphore.NewWeighted(int64(t.engine.limits.CallTools))
	tools := t.input.tools()
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex // guards out
		out      callOutcome
		previous *ask.AskingCall
	)
	// Start the calls in the order of the answer: each asks after the one before it has asked.
	for _, c := range t.calls {
		c.asks = ask.NewAskingCall(t.recorder.MessageID(), c.call.ID, c.call.PartID, previous)
		c.asks.Began, c.asks.Begins, previous = c.call.Ran, c.call.Name == tool.NameTask, c.asks
		c.asks.Decided, c.asks.Tool, c.asks.Input = c.call.Extensions, c.call.Name, c.call.RunsWith()
		if x := c.call.Extensions; x != nil && x.Halt != "" {
			c.halted = describeHalt(x.By, x.Halt)
		}
		release, err := t.acquireSlots(ctx, pool, c) // in the order of the calls
		t.engine.statuses.AddCalls(t.id, 1)
		wg.Go(func() {
			defer t.engine.statuses.AddCalls(t.id, -1)
			defer release()
			defer c.asks.Release()
			// The slot is held until the settlement is recorded.
			one := t.settleCall(ctx, tools, c, err)
			mu.Lock()
			defer mu.Unlock()
			out.merge(one)
			if one.declined != nil {
				cancel(turnlog.ErrDeclined)
			}
		})
	}
	wg.Wait()
	return out
}

// acquireSlots waits for the call's slots among the calls of the turn and of the process. release gives up those that
// were acquired.
func (t *turn) acquireSlots(ctx context.Context, pool *semaphore.Weighted, c *toolCall) (release func(), err error) {
	if err := pool.Acquire(ctx, 1); err != nil {
		return func() {}, err
	}
	c.slot.Pool = t.engine.toolSlots
	err = c.slot.Acquire(ctx, func() {})
	return func() { c.slot.Release(); pool.Release(1) }, err
}

// settleCall runs one call and records its settlement, or returns it in the outcome if it is the turn's only call: it
// then commits with the end of the turn. slotErr is set if the call was stopped before it could run. A settlement is
// recorded although ctx has ended, because the tool has had its effect.
func (t *turn) settleCall(ctx context.Context, tools *tool.Set, c *toolCall, slotErr error) (out callOutcome) {
	defer func() {
		if p := recover(); p != nil {
			t.engine.logger.Error("settling a call panicked",
				"session", t.id, "call", c.call.ID, "panic", p, "stack", string(debug.Stack()))
			out = callOutcome{err: fmt.Errorf("settling the call %s panicked", c.call.ID)}
		}
	}()
	// Run the call. One that waits for a person or a subagent at shutdown stays open for the next process.
	observed := t.input.extensions.Observe(ctx, extension.Activity{
		SessionID: t.id, ParentID: t.input.session.ParentID, MessageID: t.input.prompt, Agent: t.input.agent.ID,
		Tool: c.call.Name, CallID: c.call.ID, Input: c.call.RunsWith(),
	})
	s := t.runCall(observed.Attach(ctx), tools, c, slotErr)
	observed.End(outcomeOf(s))
	isWaiting := c.asks.IsPending() || c.call.Name == tool.NameTask && s.Error != nil
	if isWaiting && errors.Is(context.Cause(ctx), turnlog.ErrShutdown) {
		return callOutcome{unsettled: true}
	}
	if s.Denial != nil && s.Denial.Stop {
		out.declined = s.Denial
	}
	out.halted = c.halted
	if err := fault.PassPoint(ctx, fault.ToolPreSettle); err != nil {
		return callOutcome{err: err}
	}
	// Collect what the settlement commits: the outcome, the todos, and the instructions that it found.
	drafts := eventlog.NewDrafts(t.recorder.SettledEvent(c.call, s, c.asks.Waited()))
	if s.Error == nil && s.Output.Todos != nil {
		drafts = eventlog.NewDrafts(&session.TodosSet{Todos: s.Output.Todos}, drafts[0].Data)
	}
	if s.Error == nil {
		drafts = append(drafts, t.discoverInstructions(s.Output.Visited)...)
	}
	// The only call of a turn commits with the end of the turn: one sync of the disk instead of two.
	if len(t.calls) == 1 && out.declined == nil && !t.reopened {
		out.settled = drafts
		return out
	}
	// Commit at once otherwise. In a resumed turn the reply that was waited for commits with it.
	ctx = context.WithoutCancel(ctx)
	_, err := t.engine.journal.Log.Append(ctx, t.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if !t.reopened {
			return drafts, nil
		}
		replies, err := ask.PendingReplies(tx, t.newAsker(c)) // here: a reply to another ask may answer them, too
		return append(replies, drafts...), err
	})
	if err != nil {
		return callOutcome{err: err}
	}
	out.err = fault.PassPoint(ctx, fault.ToolSettled)
	return out
}

// runCall refuses the call or has its tool run it.
func (t *turn) runCall(ctx context.Context, tools *tool.Set, c *toolCall, slotErr error) tool.Settlement {
	refuse := func(r session.Reason, message string) tool.Settlement {
		return tool.Settlement{Error: session.Fail(r, message)}
	}
	// Answers in the structured output are no call of a tool.
	if t.input.output != nil && c.call.Name == history.OutputTool {
		return t.input.output.AnswerCall(c.outputCall())
	}
	// Refuse what must not run, with the reason for the model.
	if t.input.lastStep {
		return refuse(session.ReasonSteps, "tools are disabled: the step limit of this request is reached")
	}
	if c.call.Cut {
		return refuse(session.ReasonInvalidInput, history.CutCall)
	}
	if a := t.recorder.FinalAnswer(); c.call.Invalid != "" && a != nil && a.Finish == string(llm.FinishContentFilter) {
		return refuse(session.ReasonInvalidInput, history.FilteredCall)
	}
	if c.call.Invalid != "" {
		return refuse(session.ReasonInvalidInput,
			"the arguments cannot be used: "+c.call.Invalid+". Send the call again with a JSON object.")
	}
	if refused := refusedByExtension(c.call); refused != nil {
		return tool.Settlement{Error: refused}
	}
	// Refuse what was stopped before it ran, and what the model repeats in a loop.
	if slotErr != nil {
		return refuse(turnlog.ReasonOf(ctx), "the tool was not run: the turn was stopped")
	}
	if denied, err := t.checkLoop(ctx, c); err != nil {
		return refuse(turnlog.ReasonOf(ctx), "the tool was not run: the turn was stopped")
	} else if denied != nil {
		return tool.Settlement{Error: session.Fail(session.ReasonDoomLoop, denied.Error()), Denial: denied}
	}
	if err := fault.PassPoint(ctx, fault.ToolExec); err != nil {
		return refuse(session.ReasonTool, err.Error())
	}
	// Run it. Settle validates the input, asks, and bounds time and output.
	p := t.engine.journal.NewOutputNotices(t.id, session.ToolProgress{
		TurnFact: session.OfTurn(t.recorder.MessageID()), CallID: c.call.ID, PartID: c.call.PartID,
	})
	defer p.Flush()
	s := tools.Settle(ctx, t.toolCall(c, p))
	if s.Error != nil && s.Error.Reason == session.ReasonAborted {
		s.Error = stoppedFailure(ctx, s)
	}
	return s
}

// outcomeOf returns what extensions that follow the call are told of its end.
func outcomeOf(s tool.Settlement) extension.Outcome {
	if s.Error != nil {
		return extension.Outcome{Failure: s.Error.Reason}
	}
	return extension.Outcome{Content: s.Output.Content}
}

// discoverInstructions records the instruction files beside what a call has visited. The model receives them at the
// next boundary.
func (t *turn) discoverInstructions(visited []string) (drafts []eventlog.Draft) {
	if t.input.scope.FindInstructions == nil || len(visited) == 0 {
		return nil
	}
	for _, n := range t.input.scope.FindInstructions(visited) {
		if !t.input.session.HasNested(n.Path) {
			drafts = append(drafts, eventlog.Draft{Data: &session.InstructionDiscovered{NestedInstruction: n}})
		}
	}
	return drafts
}

// toolCall returns the call as its tool gets it.
func (t *turn) toolCall(c *toolCall, p *turnlog.OutputNotices) tool.Call {
	// What every tool gets: its ids, its input and the ways to ask, to show and to read.
	call := tool.Call{
		SessionID: t.id, MessageID: t.recorder.MessageID(), PartID: c.call.PartID, CallID: c.call.ID,
		Agent: t.input.agent.ID, Name: c.call.Name, Input: c.call.RunsWith(), Since: t.input.baselineSeq(),
		Review: t.reviewer(c), Environment: t.environment(c),
		Ask: func(ctx context.Context, r tool.Request) error {
			return t.engine.Asks.Authorize(ctx, t.newAsker(c), r)
		},
		Question: func(ctx context.Context, qs []session.Question) ([][]string, error) {
			return t.askQuestions(ctx, c, qs)
		},
		Confine: func(ctx context.Context) (tool.Confinement, error) {
			return t.engine.Asks.ChooseConfinement(ctx, t.newAsker(c), t.input.scope, t.input.session)
		},
		Todos:    t.readTodos,
		Results:  t.visitResults,
		Progress: p.Show, SwitchAgent: t.agentSwitch(c.call.PartID), Plan: t.planFile(),
		Jobs: t.engine.Jobs.ForSession(t.id),
		Tasks: t.engine.subagents.ForCall(task.ParentCall{
			Jobs: t.engine.Jobs.ForSession(t.id), Session: t.input.session, PartID: c.call.PartID,
			Model: t.input.model.Ref, Asks: t.input.asks,
			Recovery: t.input.recovery, Restricted: t.input.restricted,
			Chosen: t.listChosenAgents(c), Files: t.input.subtasks[c.call.PartID].Files,
			Await: c.asks.AwaitRelease, Begun: c.asks.Release,
			Progress: p.Show, Yield: func(child session.ID) func(context.Context) { return t.yieldForTask(c, child) },
		}),
	}
	// What changes files is recorded with the call; a task changes them in its own session.
	if c.call.Name == tool.NameTask {
		t.changes.NoteTask(call.MessageID)
	}
	if t.changes != nil {
		call.Files = t.changes.ForCall(call.MessageID, call.PartID, call.CallID)
	}
	return call
}

// stoppedFailure returns the failure of a call that was stopped. It is nil if the user stopped it and the tool has
// output by then: that is the result.
func stoppedFailure(ctx context.Context, s tool.Settlement) *session.Failure {
	reason := turnlog.ReasonOf(ctx)
	if reason == session.ReasonAborted && len(s.Output.Content) > 0 {
		return nil
	}
	return session.Fail(reason, s.Error.Message)
}

// readTodos reads the session's list of todos.
func (t *turn) readTodos(ctx context.Context) ([]session.Todo, error) {
	s, err := t.engine.journal.ReadSession(ctx, t.id)
	if err != nil {
		return nil, err
	}
	return s.Todos, nil
}
