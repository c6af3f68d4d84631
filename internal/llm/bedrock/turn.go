package bedrock

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	*wire.Turn
	reason string // the stop reason as sent; empty until it arrives
	usage  llm.Usage
}

// payload is the data of any event.
type payload struct {
	Index      int            `json:"contentBlockIndex"`
	Start      start          `json:"start"`
	Delta      delta          `json:"delta"`
	StopReason jsontext.Value `json:"stopReason"`
	Usage      jsontext.Value `json:"usage"`
}

type start struct {
	ToolUse *struct {
		ID   jsontext.Value `json:"toolUseId"`
		Name jsontext.Value `json:"name"`
	} `json:"toolUse"`
}

type delta struct {
	Text    jsontext.Value `json:"text"`
	ToolUse struct {
		Input jsontext.Value `json:"input"`
	} `json:"toolUse"`
	Reasoning *struct {
		Text      jsontext.Value `json:"text"`
		Signature jsontext.Value `json:"signature"`
		Redacted  jsontext.Value `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// applyEvent applies one event. After the stop reason only the usage counts.
func (t *turn) applyEvent(name string, p *payload) error {
	t.BeginAnswer("")
	if t.IsComplete() && name != "metadata" {
		return nil
	}
	switch name {
	case "contentBlockStart":
		return t.startBlock(p)
	case "contentBlockDelta":
		return t.continueBlock(p)
	case "contentBlockStop":
		t.StopBlock(p.Index)
	case "messageStop":
		t.reason = cmp.Or(wire.DecodeString(p.StopReason), "unknown")
	case "metadata":
		t.parseUsage(p.Usage)
	}
	return nil
}

// startBlock starts a call. Blocks of other types start with their first piece.
func (t *turn) startBlock(p *payload) error {
	t.StopBlock(p.Index)
	use := p.Start.ToolUse
	if use == nil {
		return nil
	}
	if wire.DecodeString(use.Name) == wire.AnswerTool {
		return t.StartBlock(p.Index, &answerBlock{})
	}
	c, err := t.BeginCall(wire.DecodeString(use.ID), wire.DecodeString(use.Name), false)
	if err != nil {
		return err
	}
	return t.StartBlock(p.Index, c)
}

// answerBlock is structured output: text in the arguments of a call.
type answerBlock struct{ wire.TextBlock }

// continueBlock applies a delta to its block. It begins the block if its start was not sent, which Bedrock does for
// text and reasoning only.
func (t *turn) continueBlock(p *payload) error {
	// No start was sent: the delta itself says what begins.
	b := t.BlockAt(p.Index)
	if b == nil {
		switch {
		case p.Delta.Reasoning != nil:
			b = &wire.ReasoningBlock{Namespace: namespace}
		case p.Delta.Text != nil:
			b = &wire.TextBlock{}
		default:
			return nil
		}
		if err := t.StartBlock(p.Index, b); err != nil {
			return err
		}
	}
	// The block's kind decides which member of the delta counts; others are ignored.
	switch b := b.(type) {
	case *wire.TextBlock:
		b.AppendText(t.Turn, b.Joiner.Next(p.Delta.Text))
	case *answerBlock:
		b.AppendText(t.Turn, b.Joiner.Next(p.Delta.ToolUse.Input))
	case *wire.Call:
		return b.AppendArguments(t.Stream, b.Joiner.Next(p.Delta.ToolUse.Input))
	case *wire.ReasoningBlock:
		if r := p.Delta.Reasoning; r != nil {
			b.AppendText(t.Turn, b.Joiner.Next(r.Text))
			return b.AppendOpaque(wire.DecodeString(r.Signature), wire.DecodeString(r.Redacted))
		}
	}
	return nil
}

// finishTurn completes the turn after the last frame.
func (t *turn) finishTurn() error {
	if t.reason == wire.WindowFull {
		return wire.NewWindowFull()
	}
	return t.Finish(t.finishReason(), t.usage)
}

// finishReason converts the stop reason. An answer with calls is never just "stop", and one without calls is never
// "tool-calls": the loop would wait for results that cannot come.
func (t *turn) finishReason() llm.FinishReason {
	switch t.reason {
	case "":
		return ""
	case "end_turn", "stop_sequence", "tool_use":
		if t.HasCalls() {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "max_tokens":
		return llm.FinishLength
	case "guardrail_intervened", "content_filtered":
		return llm.FinishContentFilter
	case "malformed_model_output", "malformed_tool_use":
		return llm.FinishError
	default:
		return llm.FinishUnknown
	}
}

// parseUsage reads the usage with the invariants of llm.Usage. The service reports cached input separately, unless its
// total shows otherwise.
func (t *turn) parseUsage(v jsontext.Value) {
	o, ok := wire.ReadObject(v)
	if !ok {
		return
	}
	u := llm.Usage{
		Input: wire.ParseTokenCount(o["inputTokens"]), Output: wire.ParseTokenCount(o["outputTokens"]),
		Total: wire.ParseTokenCount(o["totalTokens"]), CacheRead: wire.ParseTokenCount(o["cacheReadInputTokens"]),
		CacheWrite: wire.ParseTokenCount(o["cacheWriteInputTokens"]),
	}
	cached := u.CacheRead + u.CacheWrite
	if inclusive := u.Total > 0 && u.Total == u.Input+u.Output && u.Input >= cached; !inclusive {
		u.Input += cached
	}
	if raw := wire.MarshalOr(o, nil); raw.IsValid() {
		u.Raw = raw
	}
	t.usage = u
}
