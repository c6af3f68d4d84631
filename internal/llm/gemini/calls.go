package gemini

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// beginCall records a call, which arrives complete. It is emitted if the answer succeeds.
func (t *turn) beginCall(p *answerPart) error {
	t.close()
	if len(t.calls) == wire.MaxCalls {
		return wire.NewMalformed("the provider sent more than %d tool calls in one answer", wire.MaxCalls)
	}
	name, raw := wire.DecodeString(p.Call.Name), repairUTF8(string(p.Call.Args))
	newID := func() string { return t.newID(wire.DecodeString(p.Call.ID), cmp.Or(name, "invalid")+raw) }
	var c wire.LateCall
	err := c.AppendArguments(t.Stream, raw)
	if err == nil && name != "" {
		err = c.Begin(t.Stream, name, newID)
	}
	if err != nil {
		return err
	}
	e := c.End(t.Stream, nil, newID)
	e.Metadata = t.callMetadata(p)
	t.calls = append(t.calls, e)
	return nil
}

// callMetadata returns the metadata that the vendor requires back with a call: its signature, and its id if it has one.
func (t *turn) callMetadata(p *answerPart) llm.Metadata {
	kept := wire.Object{}
	if wire.IsNonEmptyString(p.Signature) {
		kept[keySignature] = p.Signature
	}
	if wire.IsNonEmptyString(p.Call.ID) && len(p.Call.ID) <= wire.MaxName {
		kept[keyCallID] = p.Call.ID
	}
	return wire.NewMetadata(t.d.metadataNamespace(), kept)
}

// newID returns an id for a call: the vendor's if it has one, else one derived from the answer and the call.
func (t *turn) newID(sent, content string) string {
	answer := t.response
	if answer == "" {
		answer = fmt.Sprintf("%s\x00%s", t.requestID, content)
	}
	return t.ids.MakeUnique(sent, answer)
}

// repairUTF8 returns raw as valid UTF-8.
func repairUTF8(raw string) string { return wire.Clip(raw, len(raw)) }

// emitCalls emits the calls.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for _, e := range t.calls {
		t.EmitCall(e, reason, false)
	}
}

// emitCode emits code that the vendor ran; its result is the next part.
func (t *turn) emitCode(p *answerPart) {
	t.close()
	t.MarkContent()
	code := p.Code
	t.codeCallID = t.newID("", string(code))
	input := wire.NormalizeInput(wire.RepairJSON(code))
	t.Emit(llm.ToolInputStart{ID: t.codeCallID, Name: codeTool})
	t.Emit(llm.ToolInputDelta{ID: t.codeCallID, Delta: string(input)})
	t.Emit(llm.ToolInputEnd{ID: t.codeCallID})
	t.Emit(llm.ToolCallEvent{
		ID: t.codeCallID, Name: codeTool, Input: input, Raw: string(input), Hosted: true,
		Metadata: t.partMetadata("executableCode", code, p.Signature),
	})
}

// emitHostedCall emits the call of a hosted tool; its result is another part.
func (t *turn) emitHostedCall(p *answerPart) {
	t.close()
	t.MarkContent()
	fields, _ := wire.ReadObject(p.ToolCall)
	sent, name := wire.DecodeString(fields["id"]), hostedToolName(fields)
	id := t.newID(sent, string(p.ToolCall))
	if t.hostedCalls == nil {
		t.hostedCalls = map[string]llm.HostedResult{}
	}
	t.hostedCalls[sent] = llm.HostedResult{ID: id, Name: name}
	input := wire.NormalizeInput(wire.RepairJSON(fields["args"]))
	t.Emit(llm.ToolInputStart{ID: id, Name: name})
	t.Emit(llm.ToolInputDelta{ID: id, Delta: string(input)})
	t.Emit(llm.ToolInputEnd{ID: id})
	t.Emit(llm.ToolCallEvent{
		ID: id, Name: name, Input: input, Raw: string(input), Hosted: true,
		Metadata: t.partMetadata("toolCall", p.ToolCall, p.Signature),
	})
}

// emitImage emits a generated image. Images in the model's reasoning are dropped.
func (t *turn) emitImage(p *answerPart) {
	if p.Thought {
		return
	}
	var b blob
	_ = wire.DecodeLenient(p.Inline, &b) // an invalid blob is empty
	picture, ok := wire.DecodeImage(b.MimeType, b.Data)
	if !ok {
		t.appendNote(wire.UnshownNote(quoteMediaType(b.MimeType), ""))
		return
	}
	t.close()
	t.MarkContent()
	kept := wire.Object{keyImage: jsontext.Value("true")}
	if wire.IsNonEmptyString(p.Signature) {
		kept[keySignature] = p.Signature
	}
	for _, e := range wire.ImageEvents(t.newID("", b.Data), wire.NewMetadata(t.d.metadataNamespace(), kept), picture) {
		t.Emit(e)
	}
}

// noteFile adds a note about a generated file that the vendor stores.
func (t *turn) noteFile(p *answerPart) {
	if p.Thought {
		return
	}
	var f fileData
	_ = wire.DecodeLenient(p.File, &f) // an invalid file has no address
	t.appendNote(wire.UnshownNote(quoteMediaType(f.MimeType), f.URI))
}

func quoteMediaType(mediaType string) string {
	if mediaType == "" {
		return "something"
	}
	return fmt.Sprintf("%.100q", mediaType)
}

// appendNote adds a note to the answer, on a line of its own.
func (t *turn) appendNote(s string) {
	if t.HasContent() {
		s = "\n" + s
	}
	t.appendText(false, wire.Quote(s))
}

// hostedToolName returns the name of a hosted tool in lower case.
func hostedToolName(fields wire.Object) string {
	name := strings.ToLower(wire.DecodeString(fields["toolType"]))
	if name == "" || len(name) > wire.MaxName {
		return "tool"
	}
	return name
}

// emitHostedResult emits the result of a hosted tool.
func (t *turn) emitHostedResult(p *answerPart) {
	t.close()
	fields, _ := wire.ReadObject(p.ToolResponse)
	sent := wire.DecodeString(fields["id"])
	r, ok := t.hostedCalls[sent]
	if !ok {
		return
	}
	delete(t.hostedCalls, sent)
	r.Result, r.Metadata = wire.RepairJSON(p.ToolResponse), t.partMetadata("toolResponse", p.ToolResponse, p.Signature)
	t.Emit(r)
}

// partMetadata returns a part with its signature, to be sent back verbatim.
func (t *turn) partMetadata(kind string, v, signature jsontext.Value) llm.Metadata {
	fields := wire.Object{kind: v}
	if wire.IsNonEmptyString(signature) {
		fields["thoughtSignature"] = signature
	}
	return wire.NewMetadata(t.d.metadataNamespace(), wire.Object{keyPart: wire.MarshalOr(fields, nil)})
}

// codeTool is the name of the hosted tool that runs code.
const codeTool = "code_execution"

// emitCodeResult emits the result of the code in the previous part.
func (t *turn) emitCodeResult(p *answerPart) {
	t.close()
	if t.codeCallID == "" {
		return
	}
	result := p.Result
	fields, _ := wire.ReadObject(result)
	t.Emit(llm.HostedResult{
		ID: t.codeCallID, Name: codeTool, Result: wire.RepairJSON(result),
		IsError:  wire.DecodeString(fields["outcome"]) != "OUTCOME_OK",
		Metadata: t.partMetadata("codeExecutionResult", result, p.Signature),
	})
	t.codeCallID = ""
}
