package ask

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// loopLength is the number of equal calls in a row, without new input, at which a call asks: the third one does.
const loopLength = 3

// Repeat is a call that the model has just made a number of times.
type Repeat struct {
	Tool       string
	Input      jsontext.Value
	Times      int  // before this one
	InTurn     int  // those of them that the same turn made
	Unanswered bool // clients of the session do not expect asks about repeats over several turns
}

// EarlierCall is a call that the model made before another one.
type EarlierCall struct {
	Name   string
	Input  jsontext.Value
	InTurn bool   // the same turn made it: it has no result yet
	Result string // what the model saw; "" if the call was refused as a repeat
}

// CheckLoop asks before a call that repeats the ones before it. It returns why the call is refused, or nil. A model
// that repeats a refused call is stopped: it would continue until its turns are used up.
func (a *Asks) CheckLoop(ctx context.Context, by Asker, r Repeat) (*tool.Denial, error) {
	// A few repetitions are normal. Where clients expect no ask about turns before this one, the call is refused.
	n := r.Times + 1
	if n < loopLength {
		return nil, nil
	}
	if r.Unanswered && r.InTurn+1 < loopLength {
		return refuseRepeat(by, r), nil
	}
	// Ask, as the engine does for itself. The model gets the count, and is stopped after twice as many.
	by.Policy = by.Policy.forEngine()
	err := a.Authorize(ctx, by, tool.Request{
		Action: ActionLoop, Resources: []string{r.Tool}, Save: []string{permission.Escape(r.Tool)},
		Metadata: encodeObject(map[string]any{"tool": r.Tool, "input": r.Input}),
	})
	if d, ok := errors.AsType[*tool.Denial](err); ok {
		if d.Feedback == "" && !d.Stop {
			d.Feedback = fmt.Sprintf("the same call was made %d times in a row", n)
			d.Stop = n >= 2*loopLength
		}
		return d, nil
	}
	return nil, err
}

// refuseRepeat refuses the call unless a rule allows repeats. The model reads the reason and continues.
func refuseRepeat(by Asker, r Repeat) *tool.Denial {
	if permission.Evaluate(filterRules(by.Layers, ActionLoop), nil, ActionLoop, r.Tool).Effect == session.Allow {
		return nil
	}
	n := r.Times + 1
	return &tool.Denial{
		Action: ActionLoop, Resources: []string{r.Tool}, Stop: n >= 2*loopLength, ByPolicy: true,
		Feedback: fmt.Sprintf("the same call was made %d times in a row, with the same result; do something else", n),
	}
}

// maxCycle is the number of different calls that may alternate in a loop.
const maxCycle = 3

// CountRepeats counts the earlier calls, newest first, that have the name and input of the call, until one differs or
// has another result than the later ones: a model that polls gets other results. Up to maxCycle calls may alternate, as
// long as all of them and their results stay the same. inTurn of the counted calls are of the same turn.
func CountRepeats(name string, input jsontext.Value, earlier iter.Seq[EarlierCall]) (n, inTurn int) {
	calls := []EarlierCall{{Name: name, Input: identifyInput(input)}}
	for e := range earlier {
		e.Input = identifyInput(e.Input)
		calls = append(calls, e)
		if len(calls) > 2*loopLength*maxCycle {
			break
		}
	}
	for period := 1; period <= maxCycle; period++ {
		if times, same := countCycles(calls, period); times > n {
			n, inTurn = times, same
		}
	}
	return n, inTurn
}

// countCycles counts the earlier calls that end the same cycle of period calls as the first one; calls are ordered
// newest first. It stops at a call, or a result, that differs from the one a period later.
func countCycles(calls []EarlierCall, period int) (n, inTurn int) {
	results := make([]string, period) // of the newest call with a result at each index of the cycle
	for i, c := range calls {
		// The call must equal the one a period later,
		if i >= period {
			later := calls[i-period]
			if c.Name != later.Name || !bytes.Equal(c.Input, later.Input) {
				return n, inTurn
			}
		}
		// and have the same result, where both are known: a model that polls makes progress.
		index := i % period
		if c.Result != "" && results[index] != "" && c.Result != results[index] {
			return n, inTurn
		}
		results[index] = cmp.Or(results[index], c.Result)
		// A whole cycle is complete.
		if i > 0 && index == 0 {
			n++
			if c.InTurn {
				inTurn++
			}
		}
	}
	return n, inTurn
}

// identifyInput returns the canonical form of an input without its description, which models word anew each time.
// Invalid JSON stays as it is.
func identifyInput(v jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) == nil && members["description"] != nil {
		delete(members, "description")
		v, _ = json.Marshal(members) // it was valid
	}
	v = v.Clone()
	_ = v.Canonicalize()
	return v
}

// ResultOf returns what the model saw of a call's result, "" if the call was refused as a repeat.
func ResultOf(c *session.Tool) string {
	var b strings.Builder
	b.WriteString(string(c.State.Status))
	if e := c.State.Error; e != nil {
		if e.Reason == session.ReasonDoomLoop {
			return ""
		}
		b.WriteString(e.Message)
	}
	for _, part := range c.State.Content {
		b.WriteString(part.Text + part.URI)
	}
	return b.String()
}
