package anthropic

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	yield   func(llm.Event, error) bool
	stopped bool // the consumer wants no more

	requestID string
	secrets   []string // values that must not come back in an error
	opened    bool
	response  string // the provider's id of this answer
	reason    string // the stop reason as sent; empty until it arrives
	used      wire.Object

	open    map[int]growing // blocks by the provider's index
	content bool            // some text, thought or hosted call has been given out
	names   struct{ texts, thoughts int }
	calls   callList
}

// growing is a block between its start and its end.
type growing interface {
	grow(t *turn, p *piece) error
	end(t *turn)
}

// maxOpen bounds the blocks that grow at a time, and maxKept the bytes that one keeps for its end.
const (
	maxOpen = 256
	maxKept = 8 << 20
)

func (t *turn) emit(e llm.Event) {
	if !t.stopped && !t.yield(e, nil) {
		t.stopped = true
	}
}

func (t *turn) begin(id jsontext.Value) {
	if t.response == "" {
		t.response = wire.Plain(id)
	}
	if !t.opened {
		t.opened = true
		t.emit(llm.Opened{RequestID: t.requestID})
	}
}

// start begins a block, with what it begins with. One that still grows under the index ends first. Blocks of a kind
// that nobody here knows are passed over.
func (t *turn) start(index int, v jsontext.Value) error {
	t.begin(nil)
	t.stop(index)
	p, ok := parse(v)
	if !ok {
		return wire.Malformed("the provider began a content block that is none: %s", wire.Excerpt(v, t.secrets))
	}
	switch {
	case p.Type == "text":
		return t.add(index, &text{}, &p)
	case p.Type == "thinking", p.Type == "redacted_thinking":
		return t.add(index, &thoughts{}, &p)
	case p.Type == "tool_use" && wire.Plain(p.Name) == answerTool:
		return t.add(index, &text{asCall: true}, &p)
	case p.Type == "tool_use", p.Type == "server_tool_use", p.Type == "mcp_tool_use":
		c, err := t.call(&p)
		if err != nil {
			return err
		}
		return t.add(index, c, &p)
	case isResult(p.Type):
		return t.result(&p, v)
	}
	return nil
}

func (t *turn) add(index int, g growing, p *piece) error {
	if len(t.open) == maxOpen {
		return wire.Malformed("the provider sent more than %d content blocks at a time", maxOpen)
	}
	t.open[index] = g
	return g.grow(t, p)
}

// delta continues a block. One that was not begun begins with it.
func (t *turn) delta(index int, v jsontext.Value) error {
	p, ok := parse(v)
	if !ok {
		return wire.Malformed("the provider continued a content block with nothing: %s", wire.Excerpt(v, t.secrets))
	}
	if g := t.open[index]; g != nil {
		return g.grow(t, &p)
	}
	t.begin(nil)
	switch p.Type {
	case "text_delta":
		return t.add(index, &text{}, &p)
	case "thinking_delta", "signature_delta":
		return t.add(index, &thoughts{}, &p)
	}
	return nil
}

func (t *turn) stop(index int) {
	if g := t.open[index]; g != nil {
		delete(t.open, index)
		g.end(t)
	}
}

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end.
func (t *turn) end() error {
	switch {
	case !t.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request and sent no answer"}
	case t.reason == "":
		return &llm.Error{Class: llm.Incomplete, Message: "the answer stopped before the provider said that it was complete"}
	}
	for _, index := range slices.Sorted(maps.Keys(t.open)) {
		t.stop(index)
	}
	reason := t.finishReason()
	if err := t.unusable(reason); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.emit(llm.Finish{Reason: reason, Usage: usage(t.used)})
	return nil
}

// unusable returns the error of an answer that arrived whole and is of no use.
func (t *turn) unusable(reason llm.FinishReason) error {
	if t.content || len(t.calls.local) > 0 {
		return nil
	}
	switch reason {
	case llm.FinishContentFilter:
		return &llm.Error{Class: llm.ContentFilter, Message: "the provider refused the request"}
	case llm.FinishLength:
		return nil
	default:
		return &llm.Error{Class: llm.Empty, Message: "the provider sent an answer with no text, no reasoning and no tool call"}
	}
}

// finishReason maps the reason as sent (spec/v2 §21.2). An answer with calls is never just "stop", and one without
// calls is never "tool-calls": the loop would wait for results that cannot come.
func (t *turn) finishReason() llm.FinishReason {
	switch t.reason {
	case "end_turn", "stop_sequence", "tool_use", "pause_turn":
		if len(t.calls.local) > 0 {
			return llm.FinishToolCalls
		}
		if t.reason == "pause_turn" {
			return llm.FinishPaused
		}
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishContentFilter
	default:
		return llm.FinishUnknown
	}
}
