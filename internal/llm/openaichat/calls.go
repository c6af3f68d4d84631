package openaichat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callList holds the tool calls of one answer, in the order of their first pieces.
type callList struct {
	list []*callState
	ids  wire.CallIDs

	choice int // the index of the choice that the calls are of
}

func (l *callList) listArguments() (out []string) {
	for _, c := range l.list {
		out = append(out, c.Arguments())
	}
	return out
}

type callState struct {
	wire.LateCall
	index   int // the vendor's index; -1 without an index
	sentID  string
	content jsontext.Value // extra_content
}

// applyCall applies one piece of a tool call. An empty piece is ignored.
func (t *turn) applyCall(d *callDelta) error {
	if d.isEmpty() {
		return nil
	}
	// A call ends the open block of text or reasoning.
	t.close()
	// Find the call that the piece belongs to, or begin one.
	c := t.calls.findCall(d)
	if c == nil {
		if len(t.calls.list) == wire.MaxCalls {
			return wire.NewMalformed("the provider sent more than %d tool calls in one answer", wire.MaxCalls)
		}
		c = &callState{index: -1, sentID: wire.DecodeString(d.ID)}
		if d.Index != nil {
			c.index = *d.Index
		}
		t.calls.list = append(t.calls.list, c)
	}
	// Take the id and the extra content whenever they come; some servers send them late.
	if c.sentID == "" {
		c.sentID = wire.DecodeString(d.ID)
	}
	if wire.IsPresent(d.ExtraContent) {
		c.content = d.ExtraContent
	}
	// Collect arguments before the name is known, too. The call is announced once its name is.
	if err := c.AppendArguments(t.Stream, argumentText(c, d.Function.Arguments)); err != nil {
		return err
	}
	if name := wire.DecodeString(d.Function.Name); c.Name == "" && name != "" {
		return c.Begin(t.Stream, name, t.newCallID(c))
	}
	return nil
}

// newCallID returns the function that makes the id of a call.
func (t *turn) newCallID(c *callState) func() string {
	return func() string { return t.calls.ids.MakeUnique(c.sentID, t.response) }
}

// findCall returns the call that d continues, or nil if d begins a new one. The index decides, but a second name under
// a used index begins a new call. Without an index, an id other than the last call's begins a new call, and so does its
// name again once the last call's arguments are complete.
func (l *callList) findCall(d *callDelta) *callState {
	id := wire.DecodeString(d.ID)
	isNew := func(c *callState) bool { return id != "" && c.sentID != "" && id != c.sentID }
	for i := len(l.list) - 1; i >= 0; i-- {
		c := l.list[i]
		if d.Index == nil {
			isNamed := c.Name != "" && wire.IsNonEmptyString(d.Function.Name)
			if isNew(c) || isNamed && (id == "" || c.isFollowedBy(d)) {
				return nil
			}
			return c
		}
		if c.index == *d.Index {
			if isNew(c) && wire.IsNonEmptyString(d.Function.Name) {
				return nil
			}
			return c
		}
	}
	return nil
}

// isFollowedBy reports whether the piece has arguments of its own after those of a complete call.
func (c *callState) isFollowedBy(d *callDelta) bool {
	done, more := jsontext.Value(c.Arguments()), wire.DecodeString(d.Function.Arguments)
	return done.Kind() == '{' && done.IsValid() && strings.HasPrefix(more, "{") && more != string(done)
}

// argumentText returns the next piece of the argument text. Some vendors send the arguments as an object.
func argumentText(c *callState, v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return c.Joiner.Next(v)
	case '{', '[':
		return string(v)
	default:
		return ""
	}
}

// emitCalls emits the calls.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for i, c := range t.calls.list {
		e := c.End(t.Stream, nil, t.newCallID(c))
		if c.content != nil {
			e.Metadata = t.d.newMetadata(map[string]jsontext.Value{keyContent: c.content})
		}
		t.EmitCall(e, reason, i == len(t.calls.list)-1)
	}
}
