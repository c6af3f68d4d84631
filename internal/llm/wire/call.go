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
		e.Invalid = "the call does not name a tool"
	}
	if c.Hosted && e.Invalid != "" { // it ran all the same
		e.Input, e.Invalid = jsontext.Value("{}"), ""
	}
	return e
}

// emitCalls gives the finished local calls out. Calls of an answer that was refused are not to be run, nor is one that
// the output limit left without its arguments: no text would mean no arguments.
func (t *Turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls {
		last := i == len(t.calls)-1
		e := c.event()
		switch {
		case c.revoked:
			e.Invalid = "the provider began its answer anew, so this call was not run"
		case reason == llm.FinishContentFilter:
			e.Invalid = "the provider cut the answer off, so this call was not run"
		case reason == llm.FinishLength && last && e.Raw == "":
			e.Invalid = "the answer reached its output limit before the arguments of this call, so it was not run"
		}
		if e.Invalid != "" {
			e.Input = nil
		}
		t.Emit(e)
	}
}
