package openairesponses

import (
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	d       Dialect
	yield   func(llm.Event, error) bool
	stopped bool // the consumer wants no more

	requestID string
	secrets   []string // values that must not come back in an error
	opened    bool
	response  string // the provider's id of this answer
	stored    bool   // the provider keeps it
	status    string // the last word: completed or incomplete; empty until it arrives
	reason    string // why it is incomplete
	refused   bool
	usage     llm.Usage

	items   map[string]*item
	order   []*item
	texts   int // blocks begun
	thought int
	said    bool // some text, reasoning or hosted call has been given out
	calls   wire.IDs
}

func (t *turn) emit(e llm.Event) {
	if !t.stopped && !t.yield(e, nil) {
		t.stopped = true
	}
}

// apply takes one frame. Kinds that are not known are not of interest, as the protocol wants it.
func (t *turn) apply(f *frame) error {
	if !t.opened {
		t.opened = true
		t.emit(llm.Opened{RequestID: t.requestID})
	}
	if f.Response != nil && t.response == "" {
		t.response, t.stored = wire.Plain(f.Response.ID), f.Response.Store
	}
	switch f.Type {
	case "response.completed", "response.incomplete":
		return t.finish(f)
	case "response.output_item.added", "response.output_item.done":
		if f.Item == nil {
			return nil
		}
		it, err := t.item(f.key())
		if err != nil {
			return err
		}
		return t.output(it, f.Item, f.Type == "response.output_item.done")
	}
	return t.delta(f)
}

// delta takes a piece of an item.
func (t *turn) delta(f *frame) error {
	begin := func() (*item, error) { return t.item(f.key()) }
	switch f.Type {
	case "response.output_text.delta":
		return t.piece(begin, textBlock, f.ContentIndex, f.Delta)
	case "response.output_text.done":
		return t.whole(begin, textBlock, f.ContentIndex, f.Text)
	case "response.refusal.delta":
		t.refused = true
		return t.piece(begin, textBlock, f.ContentIndex, f.Delta)
	case "response.refusal.done":
		t.refused = true
		return t.whole(begin, textBlock, f.ContentIndex, f.Refusal)
	case "response.reasoning_summary_text.delta":
		return t.piece(begin, summaryBlock, f.SummaryIndex, f.Delta)
	case "response.reasoning_summary_text.done":
		return t.whole(begin, summaryBlock, f.SummaryIndex, f.Text)
	case "response.reasoning_text.delta":
		return t.piece(begin, thoughtBlock, f.ContentIndex, f.Delta)
	case "response.reasoning_text.done":
		return t.whole(begin, thoughtBlock, f.ContentIndex, f.Text)
	case "response.function_call_arguments.delta":
		return t.arguments(begin, f.Delta, false)
	case "response.function_call_arguments.done":
		return t.arguments(begin, f.Arguments, true)
	}
	return nil
}

// finish takes the answer's last word. What stands in it and was not streamed is given out now.
func (t *turn) finish(f *frame) error {
	t.status, t.reason = "completed", ""
	if f.Response == nil {
		return nil
	}
	t.count(f.Response.Usage)
	t.usage.Billed = wire.Credits(f.Copilot.Credits)
	if f.Type == "response.incomplete" {
		t.status, t.reason = "incomplete", f.Response.Incomplete.Reason
	}
	if len(t.order) > 0 {
		return nil
	}
	for i := range f.Response.Output {
		it, err := t.item(frameOf(i).key())
		if err != nil {
			return err
		}
		if err := t.output(it, &f.Response.Output[i], true); err != nil {
			return err
		}
	}
	return nil
}

func frameOf(index int) *frame { return &frame{OutputIndex: &index} }

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end.
func (t *turn) end() error {
	switch {
	case !t.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request and sent no answer"}
	case t.status == "":
		return &llm.Error{Class: llm.Incomplete, Message: "the answer stopped before the provider said that it was complete"}
	}
	for _, it := range t.order {
		t.close(it)
	}
	reason := t.finishReason()
	if err := t.unusable(reason); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.emit(llm.Finish{Reason: reason, Usage: t.usage})
	return nil
}

// unusable returns the error of an answer that arrived whole and is of no use.
func (t *turn) unusable(reason llm.FinishReason) error {
	if t.said || t.hasCalls() {
		return nil
	}
	switch reason {
	case llm.FinishContentFilter:
		return &llm.Error{Class: llm.ContentFilter, Message: "the provider's content filter refused the request"}
	case llm.FinishLength:
		return nil
	default:
		return &llm.Error{Class: llm.Empty, Message: "the provider sent an answer with no text, no reasoning and no tool call"}
	}
}

// finishReason maps the end of the answer (spec/v2 §21.2).
func (t *turn) finishReason() llm.FinishReason {
	switch {
	case t.refused, t.reason == "content_filter":
		return llm.FinishContentFilter
	case t.reason == "max_output_tokens":
		return llm.FinishLength
	case t.status == "incomplete":
		return llm.FinishUnknown
	case t.hasCalls():
		return llm.FinishToolCalls
	default:
		return llm.FinishStop
	}
}
