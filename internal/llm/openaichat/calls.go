package openaichat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// What one answer may hold.
const (
	maxCalls     = 256
	maxArguments = 8 << 20 // bytes of one call's arguments
	maxName      = 256     // bytes of a tool's name, and of an id that is taken over
)

// callList is the tool calls of one answer, in the order of their first pieces.
type callList struct {
	list []*call
	ids  map[string]bool
}

type call struct {
	index   int // as the vendor counts; -1 if it does not
	sentID  string
	id      string // unique in this answer; set when the name is known
	name    string
	args    strings.Builder
	shown   int // how much of args has been given out as deltas
	text    joiner
	content jsontext.Value // extra_content
}

// call applies one piece of a tool call.
func (t *turn) call(d *callDelta) error {
	t.close()
	c := t.calls.find(d)
	if c == nil {
		if len(t.calls.list) == maxCalls {
			return malformed("the provider sent more than %d tool calls in one answer", maxCalls)
		}
		c = &call{index: -1, sentID: plain(d.ID)}
		if d.Index != nil {
			c.index = *d.Index
		}
		t.calls.list = append(t.calls.list, c)
	}
	if c.sentID == "" {
		c.sentID = plain(d.ID)
	}
	if present(d.ExtraContent) {
		c.content = d.ExtraContent
	}
	c.args.WriteString(argumentText(c, d.Function.Arguments))
	if c.args.Len() > maxArguments {
		return malformed("the provider sent a tool call with more than %d MiB of arguments", maxArguments>>20)
	}
	if c.name == "" && isText(d.Function.Name) {
		if len(d.Function.Name) > maxName+len(`""`) {
			return malformed("the provider sent a tool's name of more than %d bytes", maxName)
		}
		t.startCall(c, plain(d.Function.Name))
	}
	t.showArguments(c)
	return nil
}

// find returns the call that d continues, or nil if d begins a new one. The index decides; a second named call under
// a used index is a new one. Without an index, an id that is not the last call's begins a new call.
func (l *callList) find(d *callDelta) *call {
	id := plain(d.ID)
	isNew := func(c *call) bool { return id != "" && c.sentID != "" && id != c.sentID }
	for i := len(l.list) - 1; i >= 0; i-- {
		c := l.list[i]
		if d.Index == nil {
			if isNew(c) || (id == "" && c.name != "" && isText(d.Function.Name)) {
				return nil
			}
			return c
		}
		if c.index == *d.Index {
			if isNew(c) && isText(d.Function.Name) {
				return nil
			}
			return c
		}
	}
	return nil
}

// argumentText returns the next piece of the argument text. Some vendors send the arguments as an object.
func argumentText(c *call, v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return c.text.next(v)
	case '{', '[':
		return string(v)
	default:
		return ""
	}
}

func (t *turn) startCall(c *call, name string) {
	c.name = name
	c.id = t.calls.unique(c.sentID, t.response)
	t.emit(llm.ToolInputStart{ID: c.id, Name: c.name})
}

// unique returns sent if no other call of the answer bears it and it is not too long, else an id made from the answer's own, so that it
// does not meet those of earlier turns either.
func (l *callList) unique(sent, response string) string {
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	id := sent
	for n := len(l.ids); id == "" || len(id) > maxName || l.ids[id]; n++ {
		id = fmt.Sprintf("call_%s_%d", digest(response + "\x00" + sent)[:8], n)
	}
	l.ids[id] = true
	return id
}

func (t *turn) showArguments(c *call) {
	if c.name == "" || c.shown == c.args.Len() {
		return
	}
	piece := c.args.String()[c.shown:]
	c.shown = c.args.Len()
	t.emit(llm.ToolInputDelta{ID: c.id, Delta: piece})
}

// emitCalls gives the finished calls out. Calls of an answer that a filter cut off are not to be run, nor is one that
// the output limit left without its arguments: no text would mean no arguments.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls.list {
		last := i == len(t.calls.list)-1
		c.args.WriteString(c.text.end())
		nameless := c.name == ""
		if nameless {
			t.startCall(c, "invalid")
		}
		t.showArguments(c)
		t.emit(llm.ToolInputEnd{ID: c.id})
		e := llm.ToolCallEvent{ID: c.id, Name: c.name, Raw: c.args.String()}
		e.Input, e.Invalid = arguments(e.Raw)
		switch {
		case nameless:
			e.Invalid = "the call does not name a tool"
		case reason == llm.FinishContentFilter:
			e.Invalid = "the provider's content filter cut the answer off, so this call was not run"
		case reason == llm.FinishLength && last && e.Raw == "":
			e.Invalid = "the answer reached its output limit before the arguments of this call, so it was not run"
		}
		if e.Invalid != "" {
			e.Input = nil
		}
		if c.content != nil {
			e.Metadata = t.d.metadata(map[string]jsontext.Value{keyContent: c.content})
		}
		t.emit(e)
	}
}

// arguments returns the input of a call, or what is wrong with its text. No text means no arguments.
func arguments(raw string) (input jsontext.Value, wrong string) {
	v := jsontext.Value(strings.TrimSpace(raw))
	if len(v) == 0 || string(v) == "null" {
		return jsontext.Value("{}"), ""
	}
	if v.Kind() == '"' && v.IsValid() {
		if inner := jsontext.Value(plain(v)); inner.Kind() == '{' && inner.IsValid() {
			return inner, ""
		}
	}
	if err := v.Compact(); err != nil {
		return nil, "the arguments are not valid JSON: " + jsonReason(err)
	}
	if v.Kind() != '{' {
		return nil, "the arguments must be a JSON object"
	}
	return jsontext.Value(raw), ""
}

// jsonReason says what a JSON parser objected to, without the parser's name.
func jsonReason(err error) string {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%v at byte %d", e.Err, e.ByteOffset)
	}
	return err.Error()
}
