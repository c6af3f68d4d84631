package gemini

import (
	"fmt"
	"maps"

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
	blocked   string // why the prompt was refused
	why       string // what the provider says about the end
	finish    string // the finish reason as sent; empty until it arrives
	usage     llm.Usage
	kept      wire.Object // goes with the text that ends next, or else with Finish

	open    block // the block that grows now, if any
	texts   int   // blocks begun
	thought int
	said    bool // some text, reasoning or hosted call has been given out
	calls   []llm.ToolCallEvent
	ids     wire.IDs
	code    string // the id of the hosted call whose result is to come

	searches map[string]llm.HostedResult // hosted calls whose result is to come, by the id that the vendor sent
}

// block is a run of text or of reasoning.
type block struct {
	id        string // empty: none is open
	thought   bool
	text      wire.Joiner
	signature jsontext.Value
}

func (t *turn) emit(e llm.Event) {
	if !t.stopped && !t.yield(e, nil) {
		t.stopped = true
	}
}

// apply takes one frame.
func (t *turn) apply(f *frame) error {
	if !t.opened {
		t.opened = true
		t.emit(llm.Opened{RequestID: t.requestID})
	}
	if t.response == "" {
		t.response = wire.Plain(f.ID)
	}
	t.count(f.Usage)
	if f.Feedback.Reason != "" {
		t.blocked, t.why = f.Feedback.Reason, wire.Plain(f.Feedback.Message)
	}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Index != 0 || t.finish != "" {
			continue
		}
		for j := range c.Content.Parts {
			if err := t.part(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		t.keep(keyGrounding, c.Grounding)
		t.keep(keyURLs, c.URLs)
		if c.Finish != "" && c.Finish != "FINISH_REASON_UNSPECIFIED" {
			t.finish = c.Finish
			t.why = wire.Plain(c.Message)
		}
	}
	return nil
}

func (t *turn) keep(key string, v jsontext.Value) {
	if v.Kind() == '{' && len(v) > len(`{}`) {
		if t.kept == nil {
			t.kept = wire.Object{}
		}
		t.kept[key] = v
	}
}

func (t *turn) part(p *answerPart) error {
	switch {
	case p.Call != nil:
		return t.call(p)
	case wire.Present(p.Asked):
		t.asked(p)
	case wire.Present(p.Found):
		t.found(p)
	case wire.Present(p.Code):
		t.ran(p.Code)
	case wire.Present(p.Result):
		t.returned(p.Result)
	case wire.Present(p.Inline):
		t.made(p)
	case wire.Present(p.File):
		t.elsewhere(p)
	default:
		t.say(p.Thought, p.Text)
		if wire.IsText(p.Signature) && t.open.id != "" {
			t.open.signature = p.Signature
		}
	}
	return nil
}

// say continues the text or the reasoning. A signature ends its block: what follows is another part's.
func (t *turn) say(thought bool, text jsontext.Value) {
	if !wire.IsText(text) {
		return
	}
	if t.open.id == "" || t.open.thought != thought || t.open.signature != nil {
		t.begin(thought)
	}
	t.delta(t.open.text.Next(text))
}

func (t *turn) begin(thought bool) {
	t.close()
	t.said = true
	if thought {
		t.open = block{id: fmt.Sprintf("reasoning-%d", t.thought), thought: true}
		t.thought++
		t.emit(llm.ReasoningStart{ID: t.open.id})
		return
	}
	t.open = block{id: fmt.Sprintf("text-%d", t.texts)}
	t.texts++
	t.emit(llm.TextStart{ID: t.open.id})
}

func (t *turn) delta(s string) {
	switch {
	case s == "":
	case t.open.thought:
		t.emit(llm.ReasoningDelta{ID: t.open.id, Delta: s})
	default:
		t.emit(llm.TextDelta{ID: t.open.id, Delta: s})
	}
}

// close ends the open block, if any.
func (t *turn) close() {
	if t.open.id == "" {
		return
	}
	t.delta(t.open.text.End())
	kept := wire.Object{}
	if wire.IsText(t.open.signature) {
		kept[keySignature] = t.open.signature
	}
	if t.open.thought {
		t.emit(llm.ReasoningEnd{ID: t.open.id, Metadata: wire.Metadata(t.d.namespace(), kept)})
	} else {
		maps.Copy(kept, t.kept) // what it was found in
		t.kept = nil
		t.emit(llm.TextEnd{ID: t.open.id, Metadata: wire.Metadata(t.d.namespace(), kept)})
	}
	t.open = block{}
}

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end.
func (t *turn) end() error {
	switch {
	case !t.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request and sent no answer"}
	case t.finish == "" && t.blocked != "":
		return refusal("the provider refused the request", t.blocked, t.why)
	case t.finish == "":
		return &llm.Error{Class: llm.Incomplete, Message: "the answer stopped before the provider said that it was complete"}
	}
	t.close()
	reason := t.finishReason()
	if err := t.unusable(reason); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.emit(llm.Finish{Reason: reason, Usage: t.usage, Metadata: wire.Metadata(t.d.namespace(), t.kept)})
	return nil
}

func refusal(what, reason, why string) *llm.Error {
	what += " (" + wire.Clip(reason, 100) + ")"
	if why != "" {
		what += ": " + wire.Clip(why, 300)
	}
	return &llm.Error{Class: llm.ContentFilter, Message: what}
}

// unusable returns the error of an answer that arrived whole and is of no use. A call that the model garbled may come
// out well the next time.
func (t *turn) unusable(reason llm.FinishReason) error {
	if reason == llm.FinishError {
		return wire.Malformed("the provider could not read a tool call that the model made (%.100s)", t.finish)
	}
	if t.said || len(t.calls) > 0 {
		return nil
	}
	switch reason {
	case llm.FinishContentFilter:
		return refusal("the provider's content filter refused the request", t.finish, t.why)
	case llm.FinishLength:
		return nil
	default:
		return &llm.Error{Class: llm.Empty, Message: "the provider sent an answer with no text, no reasoning and no tool call"}
	}
}

// finishReason maps the reason as sent (spec/v2 §21.2).
func (t *turn) finishReason() llm.FinishReason {
	switch t.finish {
	case "STOP":
		if len(t.calls) > 0 {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "MAX_TOKENS":
		return llm.FinishLength
	case "SAFETY", "IMAGE_SAFETY", "RECITATION", "IMAGE_RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR":
		return llm.FinishContentFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE":
		return llm.FinishError
	default:
		return llm.FinishUnknown
	}
}
