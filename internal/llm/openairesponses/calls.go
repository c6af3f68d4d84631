package openairesponses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// applyCall is a function call as far as it is known.
type callState struct {
	id    string // unique in this answer; set when the name is known
	name  string
	args  strings.Builder
	text  wire.Joiner
	final string // the arguments as the vendor sums them up; they count
	whole bool   // final is set
	ended bool   // the vendor said that the item is complete
	shown int    // how much of args has been given out as deltas
}

// applyCall takes what the vendor says of a whole call.
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

// setName begins a call whose name has arrived.
func (t *turn) setName(it *item, o *outputItem) error {
	c := it.call
	name := wire.DecodeString(o.Name)
	if c.name != "" || name == "" {
		return nil
	}
	if len(name) > wire.MaxName {
		return wire.NewMalformed("the provider sent a tool's name of more than %d bytes", wire.MaxName)
	}
	c.name = name
	sent := wire.DecodeString(o.CallID)
	if sent == "" {
		sent = it.id
	}
	c.id = t.calls.MakeUnique(sent, t.response)
	t.Emit(llm.ToolInputStart{ID: c.id, Name: c.name})
	return nil
}

func (t *turn) callOf(it *item) *callState {
	if it.call == nil {
		it.call = &callState{}
	}
	return it.call
}

func (t *turn) hasCalls() bool {
	for _, it := range t.items.order {
		if it.call != nil {
			return true
		}
	}
	return false
}

// appendArguments takes a piece of a call's arguments, or the whole of them.
func (t *turn) appendArguments(begin func() (*item, error), v jsontext.Value, whole bool) error {
	it, err := begin()
	if err != nil {
		return err
	}
	c := t.callOf(it)
	switch {
	case whole && wire.IsPresent(v):
		c.whole = true
		c.final = string(v)
		if v.Kind() == '"' {
			c.final = wire.DecodeString(v)
		}
	case v.Kind() == '"':
		c.args.WriteString(c.text.Next(v))
	}
	if max(c.args.Len(), len(c.final)) > wire.MaxArguments {
		return wire.NewMalformed("the provider sent a tool call with more than %d MiB of arguments", wire.MaxArguments>>20)
	}
	t.emitArguments(c)
	return nil
}

func (t *turn) emitArguments(c *callState) {
	if c.name != "" && c.shown < c.args.Len() {
		t.Emit(llm.ToolInputDelta{ID: c.id, Delta: c.args.String()[c.shown:]})
		c.shown = c.args.Len()
	}
}

// emitCalls gives the finished calls out. One that did not become whole is not to be run.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for _, it := range t.items.order {
		if it.call != nil {
			t.emitCall(it, reason)
		}
	}
}

func (t *turn) emitCall(it *item, reason llm.FinishReason) {
	c := it.call
	nameless := c.name == ""
	if nameless {
		c.name, c.id = "invalid", t.calls.MakeUnique(it.id, t.response)
		t.Emit(llm.ToolInputStart{ID: c.id, Name: c.name})
	}
	c.args.WriteString(c.text.Flush())
	if c.whole && c.args.Len() == 0 {
		c.args.WriteString(c.final)
	}
	t.emitArguments(c)
	t.Emit(llm.ToolInputEnd{ID: c.id})
	e := llm.ToolCallEvent{ID: c.id, Name: c.name, Raw: c.args.String()}
	if c.whole {
		e.Raw = c.final
	}
	e.Input, e.Invalid = wire.ParseArguments(e.Raw)
	switch {
	case nameless:
		e.Invalid = wire.MissingToolName
	case !c.ended && t.status == "incomplete":
		e.Invalid = "the answer ended before this call was complete, so it was not run"
	}
	if it.id != "" {
		e.Metadata = wire.NewMetadata(t.d.metadataNamespace(), wire.Object{keyItem: wire.Quote(it.id)})
	}
	t.EmitCall(e, reason, false)
}
