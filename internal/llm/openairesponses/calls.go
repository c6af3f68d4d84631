package openairesponses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callState is the state of a function call.
type callState struct {
	id    string // unique in this answer; set when the name is known
	name  string
	args  strings.Builder
	text  wire.Joiner
	final string // the complete arguments, which take precedence over args
	whole bool   // final is set
	ended bool   // the vendor reported the item as complete
	shown int    // bytes of args that have been emitted
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

func (t *turn) listArguments() (out []string) {
	for _, it := range t.items.order {
		if it.call != nil {
			out = append(out, cmp.Or(it.call.final, it.call.args.String()))
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
