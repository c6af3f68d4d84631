package gemini

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	*wire.Stream
	d         Dialect
	requestID string
	secrets   []string // values that must not come back in an error
	response  string   // the provider's id of this answer
	blocked   string   // why the prompt was refused
	why       string   // what the provider says about the end
	finish    string   // the finish reason as sent; empty until it arrives
	usage     llm.Usage
	kept      wire.Object // goes with the text that ends next, or else with Finish

	open  block // the block that grows now, if any
	calls []llm.ToolCallEvent
	ids   wire.IDs
	code  string // the id of the hosted call whose result is to come

	searches map[string]llm.HostedResult // hosted calls whose result is to come, by the id that the vendor sent
}

// block is a run of text or of reasoning; none without an id.
type block struct {
	wire.Run
	signature jsontext.Value
}

// apply takes one frame. The answer ends with the stream, and the last finish reason is its: some send one with each
// frame, or before the calls (spec/v2 §21.2).
func (t *turn) apply(f *frame) error {
	t.Open()
	if t.response == "" {
		t.response = wire.Plain(f.ID)
	}
	t.count(f.Usage)
	if f.Feedback.Reason != "" {
		t.blocked, t.why = f.Feedback.Reason, wire.Plain(f.Feedback.Message)
	}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Index != 0 {
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
		t.ran(p)
	case wire.Present(p.Result):
		t.returned(p)
	case wire.Present(p.Inline):
		t.made(p)
	case wire.Present(p.File):
		t.elsewhere(p)
	default:
		t.say(p.Thought, p.Text)
		if wire.IsText(p.Signature) && t.open.ID != "" {
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
	if t.open.ID == "" || t.open.Thought != thought || t.open.signature != nil {
		t.begin(thought)
	}
	t.Say(&t.open.Run, t.open.Joiner.Next(text))
}

func (t *turn) begin(thought bool) {
	t.close()
	t.open = block{Run: t.Begin(thought)}
}

// close ends the open block, if any.
func (t *turn) close() {
	if t.open.ID == "" {
		return
	}
	t.Rest(&t.open.Run)
	kept := wire.Object{}
	if wire.IsText(t.open.signature) {
		kept[keySignature] = t.open.signature
	}
	if !t.open.Thought {
		maps.Copy(kept, t.kept) // what it was found in
		t.kept = nil
	}
	t.End(&t.open.Run, wire.Metadata(t.d.namespace(), kept))
	t.open = block{}
}

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end.
func (t *turn) end(bool) error {
	if t.finish == "" && t.blocked != "" {
		return refusal("the provider refused the request", t.blocked, t.why)
	}
	if err := t.Whole(t.finish != ""); err != nil {
		return err
	}
	t.close()
	reason := t.finishReason()
	if reason == llm.FinishError { // a call that the model garbled may come out well the next time
		return wire.Malformed("the provider could not read a tool call that the model made (%.100s)", t.finish)
	}
	if err := t.Usable(reason, len(t.calls) > 0, refusal("the provider's content filter refused the request", t.finish, t.why)); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: t.usage, Metadata: wire.Metadata(t.d.namespace(), t.kept)})
	return nil
}

func refusal(what, reason, why string) *llm.Error {
	what += " (" + wire.Clip(reason, 100) + ")"
	if why != "" {
		what += ": " + wire.Clip(why, 300)
	}
	return &llm.Error{Class: llm.ContentFilter, Message: what}
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
