package wire

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// MissingToolName is the reason why a call without a tool name is invalid. Its events have the name invalidName.
const (
	MissingToolName = "the call does not name a tool"
	invalidName     = "invalid"
)

// LateCall is a tool call whose arguments are arriving. Its name may arrive after the first of them, which are held back
// until then.
type LateCall struct {
	ID     string // unique in this answer; set with the name
	Name   string
	Joiner Joiner
	args   strings.Builder
	shown  int // bytes of args that have been emitted
}

// Arguments returns the argument text so far.
func (c *LateCall) Arguments() string { return c.args.String() }

// Begin gives the call the name that the provider sent, and an id that newID makes.
func (c *LateCall) Begin(s *Stream, name string, newID func() string) error {
	if len(name) > MaxName {
		return NewMalformed("the provider sent a tool's name of more than %d bytes", MaxName)
	}
	c.ID, c.Name = newID(), name
	s.Emit(llm.ToolInputStart{ID: c.ID, Name: c.Name})
	c.emitArguments(s)
	return nil
}

// AppendArguments appends to the argument text.
func (c *LateCall) AppendArguments(s *Stream, more string) error {
	if c.args.Len()+len(more) > MaxArguments {
		return NewMalformed("the provider sent a tool call with more than %d MiB of arguments", MaxArguments>>20)
	}
	c.args.WriteString(more)
	c.emitArguments(s)
	return nil
}

func (c *LateCall) emitArguments(s *Stream) {
	if c.Name != "" && c.shown < c.args.Len() {
		s.Emit(llm.ToolInputDelta{ID: c.ID, Delta: c.args.String()[c.shown:]})
		c.shown = c.args.Len()
	}
}

// End emits what was held back and the end of the arguments, and returns the event of the call, which is invalid if it
// has no name. The complete arguments, if not nil, take precedence over the pieces. newID is used without a name.
func (c *LateCall) End(s *Stream, complete *string, newID func() string) llm.ToolCallEvent {
	c.args.WriteString(c.Joiner.Flush())
	if complete != nil && c.args.Len() == 0 {
		c.args.WriteString(*complete)
	}
	nameless := c.Name == ""
	if nameless {
		_ = c.Begin(s, invalidName, newID) // short enough
	}
	c.emitArguments(s)
	s.Emit(llm.ToolInputEnd{ID: c.ID})
	e := llm.ToolCallEvent{ID: c.ID, Name: c.Name, Raw: c.args.String()}
	if complete != nil {
		e.Raw = *complete
	}
	e.Input, e.Invalid = ParseArguments(e.Raw)
	if nameless {
		e.Invalid = MissingToolName
	}
	return e
}
