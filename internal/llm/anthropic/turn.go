package anthropic

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	*wire.Turn
	reason string                 // the stop reason as sent; empty until it arrives
	usage  wire.Object            // the counts as sent
	hosted map[string]*hostedCall // hosted calls by the provider's id

	stopped  bool // message_stop has arrived
	answered bool // the structured answer came as a call
}

type hostedCall struct {
	*wire.Call
	settled bool // its result has been emitted
}

// startBlock starts a block with its first piece. Blocks of unknown types are ignored.
func (t *turn) startBlock(index int, v jsontext.Value) error {
	t.BeginAnswer("")
	t.StopBlock(index)
	p, _ := parsePiece(v)
	switch {
	case p.Type == "text":
		return t.addBlock(index, newText(false), &p)
	case p.Type == "thinking", p.Type == "redacted_thinking":
		return t.addBlock(index, &wire.ReasoningBlock{Namespace: namespace}, &p)
	case p.Type == "tool_use" && wire.DecodeString(p.Name) == wire.AnswerTool:
		t.answered = true
		return t.addBlock(index, newText(true), &p)
	case p.Type == "tool_use", p.Type == "server_tool_use", p.Type == "mcp_tool_use":
		c, err := t.beginCall(&p)
		if err != nil {
			return err
		}
		return t.addBlock(index, c, &p)
	case strings.HasSuffix(p.Type, resultSuffix):
		return t.emitHostedResult(&p, v)
	}
	return nil
}

func (t *turn) addBlock(index int, b wire.Block, p *contentPiece) error {
	if err := t.StartBlock(index, b); err != nil {
		return err
	}
	return t.growBlock(b, p)
}

// continueBlock appends to a block. A block without a start begins with its first piece.
func (t *turn) continueBlock(index int, v jsontext.Value) error {
	p, _ := parsePiece(v)
	if b := t.BlockAt(index); b != nil {
		return t.growBlock(b, &p)
	}
	t.BeginAnswer("")
	switch p.Type {
	case "text_delta":
		return t.addBlock(index, newText(false), &p)
	case "thinking_delta", "signature_delta":
		return t.addBlock(index, &wire.ReasoningBlock{Namespace: namespace}, &p)
	}
	return nil
}

func (t *turn) growBlock(b wire.Block, p *contentPiece) error {
	switch b := b.(type) {
	case *answerText:
		return b.growText(t, p)
	case *wire.ReasoningBlock:
		b.AppendText(t.Turn, b.Joiner.Next(p.Thinking))
		return b.AppendOpaque(wire.DecodeString(p.Signature), wire.DecodeString(p.Data))
	case *wire.Call:
		more := b.Joiner.Next(p.PartialJSON)
		if p.Input.Kind() == '{' && string(p.Input) != "{}" { // complete input
			more += strings.ToValidUTF8(string(p.Input), "\uFFFD")
		}
		return b.AppendArguments(t.Stream, more)
	}
	return nil
}

// answerText is a block of text with its citations.
type answerText struct {
	wire.TextBlock
	asCall    bool // structured output in the arguments of a call
	citations []jsontext.Value
	kept      int // bytes of the citations
}

func newText(asCall bool) *answerText {
	b := &answerText{asCall: asCall}
	b.Metadata = func() llm.Metadata {
		if len(b.citations) == 0 {
			return nil
		}
		return wire.NewMetadata(namespace, wire.Object{keyCitations: repairJSON(wire.MarshalOr(b.citations, nil))})
	}
	return b
}

func (b *answerText) growText(t *turn, p *contentPiece) error {
	switch {
	case b.asCall && p.Input.Kind() == '{' && string(p.Input) != "{}":
		b.AppendText(t.Turn, strings.ToValidUTF8(string(p.Input), "\uFFFD"))
	case b.asCall:
		b.AppendText(t.Turn, b.Joiner.Next(p.PartialJSON))
	default:
		b.AppendText(t.Turn, b.Joiner.Next(p.Text))
	}
	cited, _ := wire.ReadList(p.Citations)
	cited = slices.DeleteFunc(append(cited, p.Citation), func(v jsontext.Value) bool { return v.Kind() != '{' })
	for _, c := range cited {
		b.kept += len(c)
	}
	if b.kept > wire.MaxKept {
		return wire.NewMalformed("the provider sent more than %d MiB of citations for one text", wire.MaxKept>>20)
	}
	b.citations = append(b.citations, cited...)
	return nil
}

// beginCall begins a tool call.
func (t *turn) beginCall(p *contentPiece) (*wire.Call, error) {
	sent := wire.DecodeString(p.ID)
	c, err := t.BeginCall(sent, wire.DecodeString(p.Name), p.Type != "tool_use")
	if err != nil {
		return nil, err
	}
	if c.Hosted {
		t.hosted[sent] = &hostedCall{Call: c}
		c.Metadata = wire.NewMetadata(namespace, hostedMetadata(p))
	}
	return c, nil
}

// hostedMetadata returns the metadata that the provider requires back with a hosted call.
func hostedMetadata(p *contentPiece) wire.Object {
	kept := wire.Object{}
	if wire.IsNonEmptyString(p.ServerName) {
		kept[keyServer] = wire.Quote(wire.DecodeString(p.ServerName))
	}
	if p.Caller.Kind() == '{' {
		kept[keyCaller] = p.Caller
	}
	return kept
}

// emitHostedResult emits the outcome of a hosted tool, verbatim. After a pause it may belong to a call of the previous
// answer, which is then emitted again.
func (t *turn) emitHostedResult(p *contentPiece, v jsontext.Value) error {
	sent := wire.DecodeString(p.ToolUseID)
	if t.hosted[sent] == nil {
		repeated := &contentPiece{
			Type: "server_tool_use", ID: p.ToolUseID, Name: wire.Quote(strings.TrimSuffix(p.Type, resultSuffix)),
		}
		if _, err := t.beginCall(repeated); err != nil {
			return err
		}
	}
	c := t.hosted[sent]
	c.Complete(t.Turn)
	if c.settled {
		return nil
	}
	c.settled = true
	content, _ := wire.ReadObject(p.Content)
	failed := string(p.IsError) == "true" || strings.HasSuffix(wire.DecodeString(content["type"]), resultSuffix+"_error")
	t.Emit(llm.HostedResult{ID: c.ID, Name: c.Name, Result: repairJSON(v), IsError: failed})
	return nil
}

// resultSuffix ends the type of a block with the outcome of a hosted tool.
const resultSuffix = "_tool_result"

// finishTurn completes the turn after the last frame.
func (t *turn) finishTurn(ended bool) error {
	switch {
	case t.reason == wire.WindowFull:
		return wire.NewWindowFull()
	case t.reason == "tool_use" && !t.HasCalls() && !t.answered && len(t.hosted) == 0 && t.HasContent():
		return wire.NewMissingCall()
	case t.reason == "" && (ended || t.stopped) && t.IsWhole():
		t.reason = "unknown"
	}
	return t.Finish(t.finishReason(), parseUsage(t.usage))
}

// finishReason converts the stop reason. An answer with calls is never just "stop", and one without calls is never
// "tool-calls": the loop would wait for results that cannot come.
func (t *turn) finishReason() llm.FinishReason {
	switch t.reason {
	case "":
		return ""
	case "end_turn", "stop_sequence", "tool_use", "pause_turn":
		if t.HasCalls() {
			return llm.FinishToolCalls
		}
		if t.reason == "pause_turn" {
			return llm.FinishPaused
		}
		return llm.FinishStop
	case "max_tokens":
		return llm.FinishLength
	case "refusal":
		return llm.FinishContentFilter
	default:
		return llm.FinishUnknown
	}
}

// repairJSON returns v as JSON that every reader accepts: vendors may repeat names or send invalid UTF-8.
func repairJSON(v jsontext.Value) jsontext.Value {
	if v.IsValid() {
		return v
	}
	if fields, ok := wire.ReadObject(v); ok {
		v = wire.MarshalOr(fields, nil)
	}
	if v = jsontext.Value(strings.ToValidUTF8(string(v), "\uFFFD")); v.IsValid() {
		return v
	}
	return wire.Quote(string(v))
}
