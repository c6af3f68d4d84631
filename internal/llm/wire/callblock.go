package wire

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Call is a tool call whose arguments are arriving.
type Call struct {
	ID       string // unique in this answer
	Name     string
	Hosted   bool // the provider runs the tool
	Joiner   Joiner
	Metadata llm.Metadata
	nameless bool
	args     strings.Builder
	ended    bool
	revoked  bool // the provider restarted the answer after this call
}

// MissingToolName is the reason why a call without a tool name is invalid.
const MissingToolName = "the call does not name a tool"

// BeginCall begins a tool call with the provider's id and name.
func (t *Turn) BeginCall(id, name string, hosted bool) (*Call, error) {
	if t.count == MaxCalls {
		return nil, NewMalformed("the provider sent more than %d tool calls in one answer", MaxCalls)
	}
	if len(name) > MaxName {
		return nil, NewMalformed("the provider sent a tool's name of more than %d bytes", MaxName)
	}
	t.count++
	c := &Call{ID: t.ids.MakeUnique(id, t.answer), Name: name, Hosted: hosted}
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

// AppendArguments appends to the argument text.
func (c *Call) AppendArguments(t *Turn, more string) error {
	if c.args.Len()+len(more) > MaxArguments {
		return NewMalformed("the provider sent a tool call with more than %d MiB of arguments", MaxArguments>>20)
	}
	if more != "" {
		c.args.WriteString(more)
		t.Emit(llm.ToolInputDelta{ID: c.ID, Delta: more})
	}
	return nil
}

// Complete ends the arguments. It emits a hosted call at once, because the provider has run it and its result may be
// next.
func (c *Call) Complete(t *Turn) { c.close(t) }

func (c *Call) close(t *Turn) {
	if c.ended {
		return
	}
	c.ended = true
	if rest := c.Joiner.Flush(); rest != "" {
		c.args.WriteString(rest)
		t.Emit(llm.ToolInputDelta{ID: c.ID, Delta: rest})
	}
	t.Emit(llm.ToolInputEnd{ID: c.ID})
	if c.Hosted {
		t.Emit(c.toEvent())
	}
}

func (c *Call) toEvent() llm.ToolCallEvent {
	e := llm.ToolCallEvent{ID: c.ID, Name: c.Name, Raw: c.args.String(), Hosted: c.Hosted, Metadata: c.Metadata}
	e.Input, e.Invalid = ParseArguments(e.Raw)
	if c.nameless {
		e.Invalid = MissingToolName
	}
	if c.Hosted && e.Invalid != "" { // the provider ran it regardless
		e.Input, e.Invalid = jsontext.Value("{}"), ""
	}
	return e
}

// emitCalls emits the completed local calls.
func (t *Turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls {
		e := c.toEvent()
		if c.revoked {
			e.Invalid = "the provider restarted its answer, so this call was not run"
		}
		t.EmitCall(e, reason, i == len(t.calls)-1)
	}
}

// EmitCall emits a completed local call of an answer that ended for reason. A call is invalid, and has no input, if a
// content filter cut the answer off, or if it is the last one, the output limit was reached and it has no argument
// text: no text would otherwise mean no arguments.
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
