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
	ids   wire.CallIDs
	code  string // the id of the hosted call whose result is to come

	searches map[string]llm.HostedResult // hosted calls whose result is to come, by the id that the vendor sent
}

// block is a run of text or of reasoning; none without an id.
type block struct {
	wire.TextRun
	signature jsontext.Value
}

// apply takes one frame. The answer ends with the stream, and the last finish reason is its: some send one with each
// frame, or before the calls (spec/v2 §21.2).
func (t *turn) apply(f *frame) error {
	t.Open()
	if t.response == "" {
		t.response = wire.DecodeString(f.ID)
	}
	t.count(f.Usage)
	if f.Feedback.Reason != "" {
		t.blocked, t.why = f.Feedback.Reason, wire.DecodeString(f.Feedback.Message)
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
			t.why = wire.DecodeString(c.Message)
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
	case wire.IsPresent(p.Asked):
		t.asked(p)
	case wire.IsPresent(p.Found):
		t.found(p)
	case wire.IsPresent(p.Code):
		t.ran(p)
	case wire.IsPresent(p.Result):
		t.returned(p)
	case wire.IsPresent(p.Inline):
		t.made(p)
	case wire.IsPresent(p.File):
		t.elsewhere(p)
	default:
		t.say(p.Thought, p.Text)
		if wire.IsNonEmptyString(p.Signature) && t.open.ID != "" {
			t.open.signature = p.Signature
		}
	}
	return nil
}

// say continues the text or the reasoning. A signature ends its block: what follows is another part's.
func (t *turn) say(thought bool, text jsontext.Value) {
	if !wire.IsNonEmptyString(text) {
		return
	}
	if t.open.ID == "" || t.open.Reasoning != thought || t.open.signature != nil {
		t.begin(thought)
	}
	t.AppendText(&t.open.TextRun, t.open.Joiner.Next(text))
}

func (t *turn) begin(thought bool) {
	t.close()
	t.open = block{TextRun: t.BeginRun(thought)}
}

// close ends the open block, if any.
func (t *turn) close() {
	if t.open.ID == "" {
		return
	}
	t.FlushText(&t.open.TextRun)
	kept := wire.Object{}
	if wire.IsNonEmptyString(t.open.signature) {
		kept[keySignature] = t.open.signature
	}
	if !t.open.Reasoning {
		maps.Copy(kept, t.kept) // what it was found in
		t.kept = nil
	}
	t.EndRun(&t.open.TextRun, wire.NewMetadata(t.d.namespace(), kept))
	t.open = block{}
}

// end completes the turn after the last frame: the calls, then Finish, or the error that there is no good end.
func (t *turn) end(bool) error {
	if t.finish == "" && t.blocked != "" {
		return refusal("the provider refused the request", t.blocked, t.why)
	}
	if err := t.CheckEnded(t.finish != ""); err != nil {
		return err
	}
	t.close()
	reason := t.finishReason()
	if reason == llm.FinishError { // a call that the model garbled may come out well the next time
		return wire.NewMalformed("the provider could not read a tool call that the model made (%.100s)", t.finish)
	}
	if err := t.CheckContent(reason, len(t.calls) > 0, refusal("the provider's content filter refused the request", t.finish, t.why)); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: t.usage, Metadata: wire.NewMetadata(t.d.namespace(), t.kept)})
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
