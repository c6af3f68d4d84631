package openaichat

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

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
	reason    string // the finish reason as sent; empty until it arrives
	refused   bool
	usage     llm.Usage
	billed    *int64 // in pico-dollars, if the vendor says

	open    block // the block that grows now, if any
	blocks  [2]int
	content bool // some text or reasoning has been given out
	details details
	calls   callList
	sources sources
	images  []llm.Media
}

// block is a run of text or of reasoning.
type block struct {
	kind  blockKind
	id    string
	field string // reasoning: the wire field it came in
	text  wire.Joiner
}

type blockKind int

const (
	noBlock blockKind = iota
	textBlock
	reasoningBlock
)

func (t *turn) emit(e llm.Event) {
	if !t.stopped && !t.yield(e, nil) {
		t.stopped = true
	}
}

// chunk applies one frame. What follows the finish marker is only read for its usage.
func (t *turn) chunk(c *chunk) error {
	if !t.opened {
		t.opened = true
		t.response = wire.Plain(c.ID)
		t.emit(llm.Opened{RequestID: t.requestID})
	}
	t.count(c)
	t.sources.keep(keyCitations, c.Citations)
	for i := range c.Choices {
		a := &c.Choices[i]
		if a.Index != 0 || t.reason != "" {
			continue
		}
		d := &a.Delta
		if a.Message != nil {
			d = a.Message
		}
		if err := t.delta(d); err != nil {
			return err
		}
		t.reason = wire.Plain(a.FinishReason)
	}
	return nil
}

func (t *turn) delta(d *delta) error {
	if wire.Present(d.ReasoningDetails) {
		t.details.add(d.ReasoningDetails)
	}
	if field, text := d.reasoning(); field != "" {
		t.think(field, text)
	} else if wire.Present(d.ReasoningDetails) {
		for _, text := range detailTexts(d.ReasoningDetails) {
			t.think(t.d.reasoningField(), text)
		}
	}
	t.say(d.Content)
	if wire.IsText(d.Refusal) {
		t.refused = true
		t.say(d.Refusal)
	}
	if d.FunctionCall != nil {
		d.ToolCalls = append(d.ToolCalls, callDelta{Function: *d.FunctionCall})
	}
	for i := range d.ToolCalls {
		if err := t.call(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	t.sources.add(keyAnnotations, d.Annotations)
	t.sources.keep(keyExecuted, d.Executed)
	for _, image := range d.Images {
		t.picture(wire.Plain(image.ImageURL.URL))
	}
	return nil
}

// picture keeps a picture for the end. One that is none, or one too many, is told about.
func (t *turn) picture(url string) {
	m, ok := wire.PictureAt(url)
	if ok && len(t.images) < wire.MaxCalls {
		t.images = append(t.images, m)
		return
	}
	note := wire.Unshown("a picture", url)
	if t.content {
		note = "\n" + note
	}
	t.say(wire.Quote(note))
}

// say continues the text. Some vendors send a list of text and thinking parts instead of a string.
func (t *turn) say(content jsontext.Value) {
	switch {
	case wire.IsText(content):
		t.begin(textBlock)
		if s := t.open.text.Next(content); s != "" {
			t.emit(llm.TextDelta{ID: t.open.id, Delta: s})
		}
	case content.Kind() == '[':
		for _, p := range contentParts(content) {
			t.think(t.d.reasoningField(), p.Thinking)
			for _, thought := range contentParts(p.Thinking) {
				t.think(t.d.reasoningField(), thought.Text)
			}
			if wire.IsText(p.Text) {
				t.say(p.Text)
			}
		}
	}
}

func contentParts(v jsontext.Value) (parts []contentPart) {
	if v.Kind() == '[' {
		_ = wire.Read(v, &parts) // what cannot be read has no parts
	}
	return parts
}

func (t *turn) think(field string, text jsontext.Value) {
	if !wire.IsText(text) {
		return
	}
	t.begin(reasoningBlock)
	t.open.field = field
	if s := t.open.text.Next(text); s != "" {
		t.emit(llm.ReasoningDelta{ID: t.open.id, Delta: s})
	}
}

// begin makes the open block one of the given kind; a block of another kind ends.
func (t *turn) begin(kind blockKind) {
	if t.open.kind == kind {
		return
	}
	t.close()
	t.content = true
	names := [...]string{textBlock: "text", reasoningBlock: "reasoning"}
	n := &t.blocks[kind-textBlock]
	t.open = block{kind: kind, id: fmt.Sprintf("%s-%d", names[kind], *n)}
	*n++
	if kind == textBlock {
		t.emit(llm.TextStart{ID: t.open.id})
		return
	}
	t.emit(llm.ReasoningStart{ID: t.open.id})
}

// close ends the open block, if any, with the metadata gathered for it.
func (t *turn) close() {
	rest := t.open.text.End()
	switch t.open.kind {
	case textBlock:
		if rest != "" {
			t.emit(llm.TextDelta{ID: t.open.id, Delta: rest})
		}
		t.emit(llm.TextEnd{ID: t.open.id, Metadata: t.d.metadata(t.sources.take())})
	case reasoningBlock:
		if rest != "" {
			t.emit(llm.ReasoningDelta{ID: t.open.id, Delta: rest})
		}
		t.emit(llm.ReasoningEnd{ID: t.open.id, Metadata: t.kept()})
	}
	t.open = block{}
}

// kept is the continuation metadata of the reasoning block that ends.
func (t *turn) kept() llm.Metadata {
	fields := map[string]jsontext.Value{}
	if v := t.details.take(); v != nil {
		fields[keyDetails] = v
	}
	if f := t.open.field; f != "" && f != t.d.reasoningField() && t.d.reasoningField() != NoReasoning {
		fields[keyField] = wire.Quote(f)
	}
	return t.d.metadata(fields)
}

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end. Some
// vendors never give a finish reason: a body that says that it is whole, with what it used, is then complete.
func (t *turn) end(whole bool) error {
	if t.reason == "" && whole && t.usage.Raw != nil {
		t.reason = "stop"
	}
	switch {
	case !t.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request and sent no answer"}
	case t.reason == "":
		return &llm.Error{Class: llm.Incomplete, Message: "the answer stopped before the provider said that it was complete"}
	}
	t.close()
	if len(t.details.list) > 0 {
		t.begin(reasoningBlock)
		t.close()
	}
	if len(t.images) > 0 {
		t.content = true
		for _, e := range wire.Made(t.calls.ids.Unique("", t.response), nil, t.images...) {
			t.emit(e)
		}
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
	if reason == llm.FinishError {
		return &llm.Error{Class: llm.Overloaded, Message: "the provider ended the answer with finish reason " + t.reason}
	}
	if t.content || len(t.calls.list) > 0 {
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

// finishReason maps the reason as sent (spec/v2 §21.2). An answer with calls is never just "stop", and one without
// calls is never "tool-calls": the loop would wait for results that cannot come.
func (t *turn) finishReason() llm.FinishReason {
	if t.refused {
		return llm.FinishContentFilter
	}
	switch t.reason {
	case "stop", "tool_calls", "function_call", "tool_use", "end_turn", "eos", "stop_sequence", "eos_token":
		if len(t.calls.list) > 0 {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "length", "max_tokens", "model_length":
		return llm.FinishLength
	case "content_filter", "safety", "sensitive":
		return llm.FinishContentFilter
	case "error", "network_error", "insufficient_system_resource", "abort":
		return llm.FinishError
	default:
		return llm.FinishUnknown
	}
}
