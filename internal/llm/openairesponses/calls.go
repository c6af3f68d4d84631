package openairesponses

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callState is the state of a function call.
type callState struct {
	wire.LateCall
	complete *string // the complete arguments
	ended    bool    // the vendor reported the item as complete
}

// applyCall applies a call's item.
func (t *turn) applyCall(it *item, o *outputItem) error {
	c := t.callOf(it)
	if err := t.setName(it, o); err != nil {
		return err
	}
	if it.done {
		c.ended = wire.DecodeString(o.Status) != "incomplete"
	}
	if it.done || wire.IsNonEmptyString(o.Arguments) {
		return t.appendArguments(it.find, o.Arguments, it.done)
	}
	return nil
}

// setName starts a call when its name arrives.
func (t *turn) setName(it *item, o *outputItem) error {
	c, name := it.call, wire.DecodeString(o.Name)
	if c.Name != "" || name == "" {
		return nil
	}
	return c.Begin(t.Stream, name, t.newCallID(cmp.Or(wire.DecodeString(o.CallID), it.id)))
}

// newCallID returns the function that makes the id of a call.
func (t *turn) newCallID(sent string) func() string {
	return func() string { return t.calls.MakeUnique(sent, t.response) }
}

func (t *turn) callOf(it *item) *callState {
	if it.call == nil {
		it.call = &callState{}
	}
	return it.call
}

func (t *turn) listArguments() (out []string) {
	for _, it := range t.items.order {
		if it.call != nil {
			raw := it.call.Arguments()
			if c := it.call.complete; c != nil && *c != "" {
				raw = *c
			}
			out = append(out, raw)
		}
	}
	return out
}

func (t *turn) hasCalls() bool {
	for _, it := range t.items.order {
		if it.call != nil {
			return true
		}
	}
	return false
}

// appendArguments applies a piece of a call's arguments, or the complete arguments.
func (t *turn) appendArguments(find func() (*item, error), v jsontext.Value, whole bool) error {
	it, err := find()
	if err != nil {
		return err
	}
	c := t.callOf(it)
	switch {
	case whole && wire.IsPresent(v):
		complete := string(v)
		if v.Kind() == '"' {
			complete = wire.DecodeString(v)
		}
		if len(complete) > wire.MaxArguments {
			return wire.NewMalformed("the provider sent a tool call with more than %d MiB of arguments", wire.MaxArguments>>20)
		}
		c.complete = &complete
	case v.Kind() == '"':
		return c.AppendArguments(t.Stream, c.Joiner.Next(v))
	}
	return nil
}

// emitCalls emits the calls. An incomplete call must not run.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for _, it := range t.items.order {
		if it.call != nil {
			t.emitCall(it, reason)
		}
	}
}

func (t *turn) emitCall(it *item, reason llm.FinishReason) {
	c := it.call
	e := c.End(t.Stream, c.complete, t.newCallID(it.id))
	if e.Invalid != wire.MissingToolName && !c.ended && t.status == "incomplete" {
		e.Invalid = "the answer ended before this call was complete, so it was not run"
	}
	if it.id != "" {
		e.Metadata = wire.NewMetadata(t.d.metadataNamespace(), wire.Object{keyItem: wire.Quote(it.id)})
	}
	t.EmitCall(e, reason, false)
}
