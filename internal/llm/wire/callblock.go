package wire

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Call is a tool call in a content block, which begins with its name.
type Call struct {
	LateCall
	Hosted   bool // the provider runs the tool
	Metadata llm.Metadata
	nameless bool
	revoked  bool // the provider restarted the answer after this call
	ended    bool
	event    llm.ToolCallEvent // set at the end
}

// BeginCall begins a tool call with the provider's id and name.
func (t *Turn) BeginCall(id, name string, hosted bool) (*Call, error) {
	if t.count == MaxCalls {
		return nil, NewMalformed("the provider sent more than %d tool calls in one answer", MaxCalls)
	}
	c := &Call{Hosted: hosted, nameless: name == ""}
	newID := func() string { return t.ids.MakeUnique(id, t.answer) }
	if err := c.Begin(t.Stream, cmp.Or(name, invalidName), newID); err != nil {
		return nil, err
	}
	t.count++
	if hosted {
		t.content = true
	} else {
		t.calls = append(t.calls, c)
	}
	return c, nil
}

// Complete ends the arguments. It emits a hosted call at once, because the provider has run it and its result may be
// next.
func (c *Call) Complete(t *Turn) { c.close(t) }

func (c *Call) close(t *Turn) {
	if c.ended {
		return
	}
	c.ended = true
	c.event = c.End(t.Stream, nil, nil)
	c.event.Hosted, c.event.Metadata = c.Hosted, c.Metadata
	if c.nameless {
		c.event.Invalid = MissingToolName
	}
	if c.Hosted {
		if c.event.Invalid != "" { // the provider ran it regardless
			c.event.Input, c.event.Invalid = jsontext.Value("{}"), ""
		}
		t.Emit(c.event)
	}
}

// emitCalls emits the completed local calls.
func (t *Turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls {
		e := c.event
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
