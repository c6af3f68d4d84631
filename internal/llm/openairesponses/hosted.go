package openairesponses

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// hostedInput names the members of a hosted call's item that are what it was asked; the whole item is its result.
var hostedInput = []string{"action", "code", "queries", "arguments", "server_label", "input"}

// emitHosted gives out a call that the vendor ran itself, with its result. Such an item is whole when it is done.
func (t *turn) emitHosted(it *item, name string, o *outputItem) {
	t.MarkContent()
	switch {
	case !wire.IsNonEmptyString(o.Name):
	case name == "mcp":
		name = "mcp." + wire.DecodeString(o.Name)
	case name == "custom_tool": // as xAI calls searches of its own
		name = wire.DecodeString(o.Name)
	}
	name = strings.ToValidUTF8(name[:min(len(name), wire.MaxName)], "")
	id := t.calls.MakeUnique(it.id, t.response)
	fields, _ := wire.ReadObject(o.Raw)
	input := wire.Object{}
	for _, key := range hostedInput {
		if v := fields[key]; wire.IsPresent(v) {
			input[key] = v
		}
	}
	kept := wire.Object{}
	if it.id != "" {
		kept[keyItem] = wire.Quote(it.id)
	}
	meta := wire.NewMetadata(t.d.metadataNamespace(), kept)
	result := wire.RepairJSON(o.Raw)
	var made []llm.Part
	if name == llm.ImageTool {
		if m, ok := wire.DecodeImage("image/"+cmp.Or(wire.DecodeString(fields["output_format"]), "png"), wire.DecodeString(fields["result"])); ok {
			made = []llm.Part{m}
			delete(fields, "result")
			result = wire.RepairJSON(wire.MarshalOr(fields, nil))
		}
	}
	in := wire.NormalizeInput(wire.RepairJSON(wire.MarshalOr(input, nil)))
	t.Emit(llm.ToolInputStart{ID: id, Name: name})
	t.Emit(llm.ToolInputDelta{ID: id, Delta: string(in)})
	t.Emit(llm.ToolInputEnd{ID: id})
	t.Emit(llm.ToolCallEvent{ID: id, Name: name, Input: in, Raw: string(in), Hosted: true, Metadata: meta})
	t.Emit(llm.HostedResult{
		ID: id, Name: name, Result: result, Content: made, Metadata: meta,
		IsError: wire.IsPresent(o.Error) || wire.DecodeString(o.Status) == "failed",
	})
}

// noteApproval tells of a call at an MCP server that the vendor makes only once it is approved. There is no answer to that here:
// what the configuration allows needs none.
func (t *turn) noteApproval(it *item, o *outputItem) error {
	if !it.done {
		return nil
	}
	it.id = "" // what is referred to would have to be answered
	fields, _ := wire.ReadObject(o.Raw)
	text := fmt.Sprintf("[the model wants to call %.100q of the MCP server %.100q with %s. The provider asks for approval, which cannot be given here: "+
		"the call has not been made. With \"require_approval\": \"never\" in the server's declaration in hosted_tools it is made without.]",
		wire.DecodeString(o.Name), wire.DecodeString(fields["server_label"]), wire.Clip(wire.DecodeString(o.Arguments), 1000))
	return t.appendPiece(it.find, textBlock, 0, wire.Quote(text))
}
