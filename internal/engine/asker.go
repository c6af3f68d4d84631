package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// newAsker describes a call of the turn, or the engine itself (c is nil), for package ask.
func (t *turn) newAsker(c *toolCall) ask.Asker {
	by := ask.Asker{
		SessionID: t.id, RecordID: t.input.scope.RecordID, Agent: t.input.agent.ID, Layers: t.input.rights,
		Policy: t.input.policy, Restricted: t.input.restricted,
		Yield: func(action string) func(context.Context) {
			t.yieldSlots(c, action)
			return func(ctx context.Context) { t.reacquireSlots(ctx, c) }
		},
	}
	if by.Extensions = t.input.extensions; c != nil {
		by.Call = c.asks
	}
	return by
}

// yieldSlots gives up the slots of the call and of the drain while an ask waits.
func (t *turn) yieldSlots(c *toolCall, action string) {
	if c != nil {
		c.slot.Release()
	}
	status := StatusAwaiting
	if action == tool.ActionQuestion {
		status = StatusQuestion
	}
	t.slot.Yield(func() { t.engine.statuses.Set(t.id, Status{Type: status, Message: action}) })
}

// reacquireSlots waits for the slot of the drain, once no ask of it waits, and for that of the call, unless ctx ends.
func (t *turn) reacquireSlots(ctx context.Context, c *toolCall) {
	report := func(s StatusType) func() {
		return func() { t.engine.statuses.Set(t.id, Status{Type: s}) }
	}
	t.slot.EndYield(ctx, report(StatusQueued), report(StatusBusy))
	if c != nil {
		_ = c.slot.Acquire(ctx, func() {})
	}
}

// yieldForTask gives up the slots of the call and of the drain while the session of a subagent works. It returns
// a function that takes them back.
func (t *turn) yieldForTask(c *toolCall, child session.ID) func(ctx context.Context) {
	c.slot.Release()
	t.slot.Yield(func() {})
	t.engine.statuses.AddTask(t.id, child)
	return func(ctx context.Context) {
		t.engine.statuses.RemoveTask(t.id, child)
		t.slot.EndYield(ctx, func() {}, func() {})
		_ = c.slot.Acquire(ctx, func() {})
	}
}

// listChosenAgents returns the agents that the user asked for: that of the subtask, else those that the prompt
// mentions.
func (t *turn) listChosenAgents(c *toolCall) (names []string) {
	if t.input.subtasks != nil {
		return []string{t.input.subtasks[c.call.PartID].Agent}
	}
	if prompt := t.input.history.NewestPrompt(); prompt != nil {
		for _, a := range prompt.Agents {
			names = append(names, a.Name)
		}
	}
	return names
}

// askQuestions asks the user the questions of a call and waits for the answers. The ceilings of parent sessions do not
// apply to questions.
func (t *turn) askQuestions(ctx context.Context, c *toolCall, qs []session.Question) ([][]string, error) {
	by := t.newAsker(c)
	by.Layers = t.input.scope.RulesFor(t.input.agent, t.input.session)
	return t.engine.Asks.AskQuestions(ctx, by, qs)
}

// checkLoop asks before a call that repeats the calls right before it. It returns why the call is refused, or nil.
func (t *turn) checkLoop(ctx context.Context, c *toolCall) (*tool.Denial, error) {
	if t.input.subtasks != nil { // nothing that a model repeats
		return nil, nil
	}
	unanswered := t.input.session.Open || t.input.policy.Kind == ask.PolicyDeny
	repeat := ask.Repeat{Tool: c.call.Name, Input: c.call.Input, Unanswered: unanswered}
	repeat.Times, repeat.InTurn = ask.CountRepeats(c.call.Name, c.call.Input, t.earlierCalls(c))
	return t.engine.Asks.CheckLoop(ctx, t.newAsker(c), repeat)
}

// earlierCalls yields the calls before c, newest first, up to the newest input.
func (t *turn) earlierCalls(c *toolCall) iter.Seq[ask.EarlierCall] {
	return func(yield func(ask.EarlierCall) bool) {
		// Calls of the same answer, which have no results yet.
		for _, earlier := range slices.Backward(t.calls[:max(0, slices.Index(t.calls, c))]) {
			if !yield(ask.EarlierCall{Name: earlier.call.Name, Input: earlier.call.Input, InTurn: true}) {
				return
			}
		}
		// Calls of the turns before it.
		for _, m := range slices.Backward(t.input.history.Messages()) {
			switch m := m.(type) {
			case *session.User, *session.Synthetic:
				return
			case *session.Assistant:
				if m.ID == t.recorder.MessageID() {
					continue
				}
				for _, earlier := range slices.Backward(m.Tools()) {
					if !yield(ask.EarlierCall{
						Name: earlier.Name, Input: earlier.State.Input, Result: ask.ResultOf(earlier),
					}) {
						return
					}
				}
			}
		}
	}
}
