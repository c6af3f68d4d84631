package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// asker describes a call of the turn, or the drain itself (c is nil), for package ask.
func (d *drain) asker(set *setting, c *call) ask.Asker {
	by := ask.Asker{
		SessionID: d.id, Project: set.session.ApprovalScope(), Agent: set.agent.ID, Layers: set.rights, Policy: set.policy,
		Yield: func(action string) func(context.Context) {
			d.aside(c, action)
			return func(ctx context.Context) { d.back(ctx, c) }
		},
	}
	if c != nil {
		by.Call = c.asks
	}
	return by
}

// askQuestions puts the questions of a call to people. The ceilings of parent sessions do not apply to questions.
func (t *turn) askQuestions(ctx context.Context, c *call, qs []session.Question) ([][]string, error) {
	by := t.asker(t.set, c)
	by.Layers = t.set.scope.RulesFor(t.set.agent, t.set.session)
	return t.Asks.AskQuestions(ctx, by, qs)
}

// checkLoop asks before a call that repeats the calls right before it. It returns why the call is refused, or nil.
func (t *turn) checkLoop(ctx context.Context, c *call) (*tool.Denied, error) {
	repeats := ask.CountRepeats(c.name, c.input, t.earlierCalls(c))
	return t.Asks.CheckLoop(ctx, t.asker(t.set, c), ask.Repeat{Tool: c.name, Input: c.input, Times: repeats})
}

// earlierCalls yields the name and input of the calls before c, newest first, up to the newest input.
func (t *turn) earlierCalls(c *call) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		for _, earlier := range slices.Backward(t.calls[:max(0, slices.Index(t.calls, c))]) {
			if !yield(earlier.name, earlier.input) {
				return
			}
		}
		for _, m := range slices.Backward(t.set.history.Messages()) {
			switch m := m.(type) {
			case *session.User, *session.Synthetic:
				return
			case *session.Assistant:
				if m.ID == t.message {
					continue
				}
				for _, earlier := range slices.Backward(m.Tools()) {
					if !yield(earlier.Name, earlier.State.Input) {
						return
					}
				}
			}
		}
	}
}

// checkBudget asks before the next turn if it would exceed the budget. It reports whether the work stops.
func (d *drain) checkBudget(ctx context.Context, set *setting) (stop bool, err error) {
	b := session.Budget{}
	if set.session.Budget != nil {
		b = *set.session.Budget
	}
	if b.Turns <= 0 {
		b.Turns = d.limits.Turns
	}
	err = d.Asks.CheckBudget(ctx, d.asker(set, nil), ask.BudgetCheck{Budget: b, Grants: &set.cached.grants, Usage: ask.Usage{
		Turns: set.history.CountTurns(), Cost: set.session.Cost, Tokens: set.session.Tokens.Sum(), Wall: d.now().Sub(d.started),
	}})
	if exceeded, ok := errors.AsType[*ask.BudgetError](err); ok {
		return true, d.halt(ctx, session.ReasonBudget, exceeded)
	}
	return err != nil, err
}
