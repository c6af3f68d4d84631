package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/tool"
)

// loopLength is how many times in a row a model may make the same call without new input before people are asked.
const loopLength = 3

// Repeat is a call that the model has just made a number of times.
type Repeat struct {
	Tool  string
	Input jsontext.Value
	Times int // before this one
}

// CheckLoop asks before a call that repeats the ones before it. It returns why the call is refused, or nil. A model
// that repeats a refused call is stopped: it would continue until its turns are used up.
func (a *Asks) CheckLoop(ctx context.Context, by Asker, r Repeat) (*tool.Denial, error) {
	n := r.Times + 1
	if n < loopLength {
		return nil, nil
	}
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

// CountRepeats counts how many of the earlier calls, newest first, have the same name and input before one differs.
func CountRepeats(name string, input jsontext.Value, earlier iter.Seq2[string, jsontext.Value]) (n int) {
	input = canonicalJSON(input)
	for otherName, otherInput := range earlier {
		if otherName != name || !bytes.Equal(canonicalJSON(otherInput), input) {
			break
		}
		n++
	}
	return n
}

// canonicalJSON returns the canonical form of a value; invalid JSON stays as it is.
func canonicalJSON(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	_ = v.Canonicalize()
	return v
}
