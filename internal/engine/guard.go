package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The actions that the engine itself asks for. A rule must name them: "*" does not mean them.
const (
	actionBudget = "budget"
	actionLoop   = "doom_loop"
)

// loopLength is how many times in a row the same call may be made without new input before somebody is asked
// (spec/v2 §28.12).
const loopLength = 3

// explicit keeps the rules that name the action.
func explicit(layers []permission.Layer, action string) []permission.Layer {
	var out []permission.Layer
	for _, l := range layers {
		named := l
		named.Rules, named.Places = nil, nil
		for i, r := range l.Rules {
			if r.Action == action {
				named.Rules, named.Places = append(named.Rules, r), append(named.Places, l.Place(i))
			}
		}
		out = append(out, named)
	}
	return out
}

// guardLoop asks before a call that the model has just made in vain, again and again. It returns why the call is
// refused, or nil. A model that does not listen to a refusal, of a rule or of a policy that refuses all, is stopped: it
// would go on until its turns are used up.
func (t *turn) guardLoop(ctx context.Context, c *call) (*tool.Denied, error) {
	n := t.repeats(c) + 1
	if n < loopLength {
		return nil, nil
	}
	err := t.askUnder(ctx, c, tool.Request{
		Action: actionLoop, Resources: []string{c.name}, Save: []string{permission.Escape(c.name)},
		Metadata: encodeObject(map[string]any{"tool": c.name, "input": c.input}),
	}, t.set.asks.strict())
	if d, ok := errors.AsType[*tool.Denied](err); ok {
		if d.Feedback == "" && !d.Stop {
			d.Feedback = fmt.Sprintf("the same call was made %d times in a row", n)
			d.Stop = n >= 2*loopLength
		}
		return d, nil
	}
	return nil, err
}

// repeats counts how many calls right before c say the same, since the last input.
func (t *turn) repeats(c *call) int {
	n := 0
	same := func(name string, input jsontext.Value) bool {
		if name != c.name || !bytes.Equal(canonical(input), canonical(c.input)) {
			return false
		}
		n++
		return true
	}
	for _, earlier := range slices.Backward(t.calls[:max(0, slices.Index(t.calls, c))]) {
		if !same(earlier.name, earlier.input) {
			return n
		}
	}
	for _, m := range slices.Backward(t.set.history.Messages()) {
		switch m := m.(type) {
		case *session.User, *session.Synthetic:
			return n
		case *session.Assistant:
			if m.ID == t.message {
				continue
			}
			for _, earlier := range slices.Backward(m.Tools()) {
				if !same(earlier.Name, earlier.State.Input) {
					return n
				}
			}
		}
	}
	return n
}

func canonical(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	_ = v.Canonicalize() // what is no JSON stays as it is
	return v
}

// breach is a limit that the next turn would exceed.
type breach struct {
	kind  string // "usd", "tokens", "wall", "turns"
	spent string
	limit string
}

// guardBudget asks before the next turn when a limit is reached. A yes allows as much again. A headless "allow" does
// not lift budgets: they are there for when nobody looks.
func (d *drain) guardBudget(ctx context.Context, set *setting) (stop bool, err error) {
	if d.breached(set, nil) == nil {
		return false, nil
	}
	raised := &set.cached.raises
	if err := raised.read(ctx, d.store, d.id); err != nil {
		return false, err
	}
	b := d.breached(set, raised.times)
	if b == nil {
		return false, nil
	}
	policy := set.asks.strict()
	if policy.kind == "allow" {
		policy.kind = "fail"
	}
	t := newTurn(d, set, llm.Prefix{}, nil)
	err = t.decide(ctx, nil, tool.Request{
		Action: actionBudget, Resources: []string{b.kind},
		Metadata: encodeObject(map[string]any{"limit": b.limit, "spent": b.spent}),
	}, policy)
	if denied, ok := errors.AsType[*tool.Denied](err); ok {
		why := fmt.Errorf("the budget is used up: %s of %s %s", b.spent, b.limit, b.kind)
		if denied.Feedback != "" {
			why = fmt.Errorf("%w (%s)", why, denied.Feedback)
		}
		return true, d.halt(ctx, session.ReasonBudget, why)
	}
	return err != nil, err
}

func (d *drain) breached(set *setting, raised map[string]int64) *breach {
	b := session.Budget{}
	if set.session.Budget != nil {
		b = *set.session.Budget
	}
	turns := int64(d.limits.Turns)
	if b.Turns > 0 {
		turns = int64(b.Turns)
	}
	s := set.session
	over := func(kind string, spent, limit int64, show func(int64) string) *breach {
		allowed := limit * (1 + raised[kind])
		if limit <= 0 || spent < allowed {
			return nil
		}
		return &breach{kind, show(spent), show(allowed)}
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	for _, found := range []*breach{
		over("turns", set.history.CountTurns(), turns, number),
		over("usd", int64(s.Cost), int64(b.USD), func(n int64) string { return session.USD(n).String() }),
		over("tokens", s.Tokens.Sum(), b.Tokens, number),
		over("wall", d.now().Sub(d.started).Milliseconds(), b.Wall, func(n int64) string { return fmt.Sprint(n, "ms") }),
	} {
		if found != nil {
			return found
		}
	}
	return nil
}

func encodeObject(m map[string]any) jsontext.Value {
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}
