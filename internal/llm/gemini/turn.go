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
	response  string // the provider's id of this answer
	blocked   string // the reason why the prompt was refused
	message   string // the provider's message about the end
	finish    string // the finish reason as sent; empty until it arrives
	usage     llm.Usage
	metadata  wire.Object // of the next text that ends, else of Finish

	open       block // the current block, if any
	calls      []llm.ToolCallEvent
	ids        wire.CallIDs
	codeCallID string // the hosted call whose result is missing

	hostedCalls map[string]llm.HostedResult // hosted calls whose results are missing, by the vendor's id
}

// block is a run of text or of reasoning; an empty id means no block.
type block struct {
	wire.TextRun
	signature jsontext.Value
}

// applyFrame applies one frame. The answer ends with the stream and its last finish reason counts: some servers send
// one with each frame, or before the calls.
func (t *turn) applyFrame(f *frame) error {
	t.Open()
	if t.response == "" {
		t.response = wire.DecodeString(f.ID)
	}
	t.parseUsage(f.Usage)
	if f.Feedback.Reason != "" {
		t.blocked, t.message = f.Feedback.Reason, wire.DecodeString(f.Feedback.Message)
	}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Index != 0 {
			continue
		}
		for j := range c.Content.Parts {
			if err := t.applyPart(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		t.keepMetadata(keyGrounding, c.Grounding)
		t.keepMetadata(keyURLs, c.URLs)
		if c.Finish != "" && c.Finish != "FINISH_REASON_UNSPECIFIED" {
			t.finish = c.Finish
			t.message = wire.DecodeString(c.Message)
		}
	}
	return nil
}

func (t *turn) keepMetadata(key string, v jsontext.Value) {
	if v.Kind() == '{' && len(v) > len(`{}`) {
		if t.metadata == nil {
			t.metadata = wire.Object{}
		}
		t.metadata[key] = v
	}
}

func (t *turn) applyPart(p *answerPart) error {
	switch {
	case p.Call != nil:
		return t.beginCall(p)
	case wire.IsPresent(p.ToolCall):
		t.emitHostedCall(p)
	case wire.IsPresent(p.ToolResponse):
		t.emitHostedResult(p)
	case wire.IsPresent(p.Code):
		t.emitCode(p)
	case wire.IsPresent(p.Result):
		t.emitCodeResult(p)
	case wire.IsPresent(p.Inline):
		t.emitImage(p)
	case wire.IsPresent(p.File):
		t.noteFile(p)
	default:
		t.appendText(p.Thought, p.Text)
		if wire.IsNonEmptyString(p.Signature) && t.open.ID != "" {
			t.open.signature = p.Signature
		}
	}
	return nil
}

// appendText appends to the text or the reasoning. A signature ends its block.
func (t *turn) appendText(thought bool, text jsontext.Value) {
	if !wire.IsNonEmptyString(text) {
		return
	}
	if t.open.ID == "" || t.open.Reasoning != thought || t.open.signature != nil {
		t.beginBlock(thought)
	}
	t.AppendText(&t.open.TextRun, t.open.Joiner.Next(text))
}

func (t *turn) beginBlock(thought bool) {
	t.close()
	t.open = block{TextRun: t.BeginRun(thought)}
}

// close ends the open block, if there is one.
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
		maps.Copy(kept, t.metadata) // the sources of the text
		t.metadata = nil
	}
	t.EndRun(&t.open.TextRun, wire.NewMetadata(t.d.metadataNamespace(), kept))
	t.open = block{}
}

// finishTurn completes the turn after the last frame: the calls, then Finish, or an error.
func (t *turn) finishTurn(ended bool) error {
	if t.finish == "" && t.blocked == "" && ended && (t.HasContent() || len(t.calls) > 0) {
		t.finish = "UNKNOWN"
	}
	if t.finish == "" && t.blocked != "" {
		return newRefusal("the provider refused the request", t.blocked, t.message)
	}
	if err := t.CheckEnded(t.finish != ""); err != nil {
		return err
	}
	t.close()
	reason := t.finishReason()
	if reason == llm.FinishError { // a retry may produce a valid call
		return wire.NewMalformed("the provider could not read a tool call that the model made (%.100s)", t.finish)
	}
	if err := t.CheckContent(
		reason, len(t.calls) > 0, newRefusal("the provider's content filter refused the request", t.finish, t.message),
	); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: t.usage, Metadata: wire.NewMetadata(t.d.metadataNamespace(), t.metadata)})
	return nil
}

func newRefusal(what, reason, why string) *llm.Error {
	what += " (" + wire.Clip(reason, 100) + ")"
	if why != "" {
		what += ": " + wire.Clip(why, 300)
	}
	return &llm.Error{Class: llm.ContentFilter, Message: what}
}

// finishReason converts the finish reason.
func (t *turn) finishReason() llm.FinishReason {
	switch t.finish {
	case "STOP":
		if len(t.calls) > 0 {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "MAX_TOKENS":
		return llm.FinishLength
	case "SAFETY", "IMAGE_SAFETY", "RECITATION", "IMAGE_RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT",
		"IMAGE_PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR":
		return llm.FinishContentFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
		"MALFORMED_RESPONSE":
		return llm.FinishError
	default:
		return llm.FinishUnknown
	}
}
