package wire

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Call is a tool call whose arguments arrive.
type Call struct {
	ID       string // unique in this answer
	Name     string
	Hosted   bool // the provider runs it
	Joiner   Joiner
	Metadata llm.Metadata
	nameless bool
	args     strings.Builder
	ended    bool
	revoked  bool // the answer began anew after it
}

// Nameless is what is wrong with a call without the name of a tool.
const Nameless = "the call does not name a tool"

// Call begins a tool call with the id and the name that the provider gives it.
func (t *Turn) Call(id, name string, hosted bool) (*Call, error) {
	if t.count == MaxCalls {
		return nil, Malformed("the provider sent more than %d tool calls in one answer", MaxCalls)
	}
	if len(name) > MaxName {
		return nil, Malformed("the provider sent a tool's name of more than %d bytes", MaxName)
	}
	t.count++
	c := &Call{ID: t.ids.Unique(id, t.answer), Name: name, Hosted: hosted}
	if name == "" {
		c.Name, c.nameless = "invalid", true
	}
	if hosted {
		t.content = true
	} else {
		t.calls = append(t.calls, c)
	}
	t.Emit(llm.ToolInputStart{ID: c.ID, Name: c.Name})
	return c, nil
}

// Argue continues the arguments.
func (c *Call) Argue(t *Turn, more string) error {
	if c.args.Len()+len(more) > MaxArguments {
		return Malformed("the provider sent a tool call with more than %d MiB of arguments", MaxArguments>>20)
	}
	if more != "" {
		c.args.WriteString(more)
		t.Emit(llm.ToolInputDelta{ID: c.ID, Delta: more})
	}
	return nil
}

// Complete ends the arguments. A hosted call is given out: it has run already, and its result may be next.
func (c *Call) Complete(t *Turn) { c.end(t) }

func (c *Call) end(t *Turn) {
	if c.ended {
		return
	}
	c.ended = true
	if rest := c.Joiner.End(); rest != "" {
		c.args.WriteString(rest)
		t.Emit(llm.ToolInputDelta{ID: c.ID, Delta: rest})
	}
	t.Emit(llm.ToolInputEnd{ID: c.ID})
	if c.Hosted {
		t.Emit(c.event())
	}
}

func (c *Call) event() llm.ToolCallEvent {
	e := llm.ToolCallEvent{ID: c.ID, Name: c.Name, Raw: c.args.String(), Hosted: c.Hosted, Metadata: c.Metadata}
	e.Input, e.Invalid = Arguments(e.Raw)
	if c.nameless {
		e.Invalid = Nameless
	}
	if c.Hosted && e.Invalid != "" { // it ran all the same
		e.Input, e.Invalid = jsontext.Value("{}"), ""
	}
	return e
}

// emitCalls gives the finished local calls out.
func (t *Turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls {
		e := c.event()
		if c.revoked {
			e.Invalid = "the provider began its answer anew, so this call was not run"
		}
		t.EmitCall(e, reason, i == len(t.calls)-1)
	}
}

// EmitCall gives a finished local call out, when the answer ended for the reason. Calls of an answer that a filter cut off are
// not to be run, nor is the last one if the output limit left it without its arguments: no text would mean no arguments. A call
// with which something is wrong has no input.
func (s *Stream) EmitCall(e llm.ToolCallEvent, reason llm.FinishReason, last bool) {
	switch {
	case reason == llm.FinishContentFilter:
		e.Invalid = "the provider's content filter cut the answer off, so this call was not run"
	case reason == llm.FinishLength && last && e.Raw == "":
		e.Invalid = "the answer reached its output limit before the arguments of this call, so it was not run"
	}
	if e.Invalid != "" {
		e.Input = nil
	}
	s.Emit(e)
}
