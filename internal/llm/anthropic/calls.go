package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callList is the tool calls of one answer.
type callList struct {
	ids    wire.IDs
	local  []*call          // in the order of their beginning
	hosted map[string]*call // the provider's own, by the id that it sent
	count  int
}

type call struct {
	id       string // unique in this answer
	name     string
	hosted   bool
	server   jsontext.Value // the MCP server that the provider asks
	nameless bool
	args     strings.Builder
	joiner   wire.Joiner
	ended    bool
	settled  bool // a hosted one whose result has come
}

// call begins a tool call.
func (t *turn) call(p *piece) (*call, error) {
	if t.calls.count == wire.MaxCalls {
		return nil, wire.Malformed("the provider sent more than %d tool calls in one answer", wire.MaxCalls)
	}
	if len(p.Name) > wire.MaxName+len(`""`) {
		return nil, wire.Malformed("the provider sent a tool's name of more than %d bytes", wire.MaxName)
	}
	t.calls.count++
	c := &call{name: wire.Plain(p.Name), hosted: p.Type != "tool_use", server: p.ServerName}
	if c.name == "" {
		c.name, c.nameless = "invalid", true
	}
	sent := wire.Plain(p.ID)
	c.id = t.calls.ids.Unique(sent, t.response)
	if c.hosted {
		t.calls.host(sent, c)
		t.content = true
	} else {
		t.calls.local = append(t.calls.local, c)
	}
	t.emit(llm.ToolInputStart{ID: c.id, Name: c.name})
	return c, nil
}

func (l *callList) host(sent string, c *call) {
	if l.hosted == nil {
		l.hosted = map[string]*call{}
	}
	l.hosted[sent] = c
}

func (c *call) grow(t *turn, p *piece) error {
	more := c.joiner.Next(p.PartialJSON)
	if p.Input.Kind() == '{' && string(p.Input) != "{}" { // it came whole
		more += strings.ToValidUTF8(string(p.Input), "\uFFFD")
	}
	if c.args.Len()+len(more) > wire.MaxArguments {
		return wire.Malformed("the provider sent a tool call with more than %d MiB of arguments", wire.MaxArguments>>20)
	}
	c.show(t, more)
	return nil
}

func (c *call) show(t *turn, more string) {
	if more != "" {
		c.args.WriteString(more)
		t.emit(llm.ToolInputDelta{ID: c.id, Delta: more})
	}
}

// end completes the arguments. A hosted call is given out: it has run already, and its result may be next.
func (c *call) end(t *turn) {
	if c.ended {
		return
	}
	c.ended = true
	c.show(t, c.joiner.End())
	t.emit(llm.ToolInputEnd{ID: c.id})
	if c.hosted {
		t.emit(c.event())
	}
}

func (c *call) event() llm.ToolCallEvent {
	e := llm.ToolCallEvent{ID: c.id, Name: c.name, Raw: c.args.String(), Hosted: c.hosted}
	e.Input, e.Invalid = wire.Arguments(e.Raw)
	if c.nameless {
		e.Invalid = "the call does not name a tool"
	}
	if c.hosted && e.Invalid != "" { // it ran all the same
		e.Input, e.Invalid = jsontext.Value("{}"), ""
	}
	if wire.IsText(c.server) {
		e.Metadata = kept(wire.Object{keyServer: wire.Quote(wire.Plain(c.server))})
	}
	return e
}

// emitCalls gives the finished local calls out. Calls of an answer that was refused are not to be run, nor is one that
// the output limit left without its arguments: no text would mean no arguments.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls.local {
		last := i == len(t.calls.local)-1
		e := c.event()
		switch {
		case reason == llm.FinishContentFilter:
			e.Invalid = "the provider cut the answer off, so this call was not run"
		case reason == llm.FinishLength && last && e.Raw == "":
			e.Invalid = "the answer reached its output limit before the arguments of this call, so it was not run"
		}
		if e.Invalid != "" {
			e.Input = nil
		}
		t.emit(e)
	}
}

// result gives out the outcome of a tool that the provider ran, whole as it came. After a pause it may be that of a
// call of the answer before, which is then told again.
func (t *turn) result(p *piece, v jsontext.Value) error {
	sent := wire.Plain(p.ToolUseID)
	c := t.calls.hosted[sent]
	if c == nil {
		again := &piece{Type: "server_tool_use", ID: p.ToolUseID, Name: wire.Quote(strings.TrimSuffix(p.Type, "_tool_result"))}
		var err error
		if c, err = t.call(again); err != nil {
			return err
		}
	}
	c.end(t)
	if c.settled {
		return nil
	}
	c.settled = true
	content, _ := wire.ReadObject(p.Content)
	failed := string(p.IsError) == "true" || strings.HasSuffix(wire.Plain(content["type"]), "_tool_result_error")
	t.emit(llm.HostedResult{ID: c.id, Name: c.name, Result: clean(v), IsError: failed})
	return nil
}
