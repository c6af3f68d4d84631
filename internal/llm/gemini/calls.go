package gemini

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// call takes a call, which comes whole. It is given out when the answer is good.
func (t *turn) call(p *answerPart) error {
	t.close()
	if len(t.calls) == wire.MaxCalls {
		return wire.Malformed("the provider sent more than %d tool calls in one answer", wire.MaxCalls)
	}
	e := llm.ToolCallEvent{Name: wire.Plain(p.Call.Name), Raw: jsonText(string(p.Call.Args)), Metadata: t.signed(p.Signature)}
	switch {
	case len(e.Name) > wire.MaxName:
		return wire.Malformed("the provider sent a tool's name of more than %d bytes", wire.MaxName)
	case len(e.Raw) > wire.MaxArguments:
		return wire.Malformed("the provider sent a tool call with more than %d MiB of arguments", wire.MaxArguments>>20)
	}
	e.Input, e.Invalid = wire.Arguments(e.Raw)
	if e.Name == "" {
		e.Name, e.Invalid = "invalid", "the call does not name a tool"
	}
	e.ID = t.newID(wire.Plain(p.Call.ID), e.Name+e.Raw)
	t.emit(llm.ToolInputStart{ID: e.ID, Name: e.Name})
	if e.Raw != "" {
		t.emit(llm.ToolInputDelta{ID: e.ID, Delta: e.Raw})
	}
	t.emit(llm.ToolInputEnd{ID: e.ID})
	t.calls = append(t.calls, e)
	return nil
}

// newID returns an id for a call: the vendor's, if it gives one, else one that the answer and the call make.
func (t *turn) newID(sent, what string) string {
	answer := t.response
	if answer == "" {
		answer = fmt.Sprintf("%s\x00%s", t.requestID, what)
	}
	return t.ids.Unique(sent, answer)
}

// jsonText is raw as valid UTF-8.
func jsonText(raw string) string { return wire.Clip(raw, len(raw)) }

// emitCalls gives the calls out. Those of an answer that a filter cut off are not to be run.
func (t *turn) emitCalls(reason llm.FinishReason) {
	for _, e := range t.calls {
		if reason == llm.FinishContentFilter {
			e.Invalid = "the provider's content filter cut the answer off, so this call was not run"
		}
		if e.Invalid != "" {
			e.Input = nil
		}
		t.emit(e)
	}
}

// ran gives out code that the vendor ran itself; its result is the next part.
func (t *turn) ran(code jsontext.Value) {
	t.close()
	t.said = true
	t.code = t.newID("", string(code))
	input := wire.Input(wire.Strict(code))
	t.emit(llm.ToolInputStart{ID: t.code, Name: codeTool})
	t.emit(llm.ToolInputDelta{ID: t.code, Delta: string(input)})
	t.emit(llm.ToolInputEnd{ID: t.code})
	t.emit(llm.ToolCallEvent{ID: t.code, Name: codeTool, Input: input, Raw: string(input), Hosted: true, Metadata: t.verbatim("executableCode", code)})
}

// codeTool is the name of the vendor's own tool for code.
const codeTool = "code_execution"

// returned gives out what the code of the part before it came to.
func (t *turn) returned(result jsontext.Value) {
	t.close()
	if t.code == "" {
		return
	}
	fields, _ := wire.ReadObject(result)
	t.emit(llm.HostedResult{
		ID: t.code, Name: codeTool, Result: wire.Strict(result),
		IsError:  wire.Plain(fields["outcome"]) != "OUTCOME_OK",
		Metadata: t.verbatim("codeExecutionResult", result),
	})
	t.code = ""
}

func (t *turn) verbatim(kind string, v jsontext.Value) llm.Metadata {
	return wire.Metadata(t.d.namespace(), wire.Object{keyPart: wire.Write(wire.Object{kind: v}, nil)})
}
