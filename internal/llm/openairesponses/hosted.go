package openairesponses

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// hostedInput are the members of a hosted call's item that form its input; the complete item is its result.
var hostedInput = []string{"action", "code", "queries", "arguments", "server_label", "input"}

// emitHosted emits a hosted call with its result. Its item is complete when it is done.
func (t *turn) emitHosted(it *item, name string, o *outputItem) {
	t.MarkContent()
	// Name the call by the tool of the MCP server or of xAI; other calls have the name of their type.
	switch {
	case !wire.IsNonEmptyString(o.Name):
	case name == "mcp":
		name = "mcp." + wire.DecodeString(o.Name)
	case name == "custom_tool": // the type of xAI's own searches
		name = wire.DecodeString(o.Name)
	}
	name = strings.ToValidUTF8(name[:min(len(name), wire.MaxName)], "")
	// Select the members that form the input.
	id := t.calls.MakeUnique(it.id, t.response)
	fields, _ := wire.ReadObject(o.Raw)
	input := wire.Object{}
	for _, key := range hostedInput {
		if v := fields[key]; wire.IsPresent(v) {
			input[key] = v
		}
	}
	// Keep the item's id, with which the item can be sent back.
	kept := wire.Object{}
	if it.id != "" {
		kept[keyItem] = wire.Quote(it.id)
	}
	meta := wire.NewMetadata(t.d.metadataNamespace(), kept)
	// A generated image becomes a part of the content, and leaves the JSON of the result.
	result := wire.RepairJSON(o.Raw)
	var images []llm.Part
	if name == llm.ImageTool {
		if m, ok := wire.DecodeImage(
			"image/"+cmp.Or(wire.DecodeString(fields["output_format"]), "png"), wire.DecodeString(fields["result"]),
		); ok {
			images = []llm.Part{m}
			delete(fields, "result")
			result = wire.RepairJSON(wire.MarshalOr(fields, nil))
		}
	}
	// Emit the call as a stream that is complete at once, then the result.
	in := wire.NormalizeInput(wire.RepairJSON(wire.MarshalOr(input, nil)))
	t.Emit(llm.ToolInputStart{ID: id, Name: name})
	t.Emit(llm.ToolInputDelta{ID: id, Delta: string(in)})
	t.Emit(llm.ToolInputEnd{ID: id})
	t.Emit(llm.ToolCallEvent{ID: id, Name: name, Input: in, Raw: string(in), Hosted: true, Metadata: meta})
	t.Emit(llm.HostedResult{
		ID: id, Name: name, Result: result, Content: images, Metadata: meta,
		IsError: wire.IsPresent(o.Error) || wire.DecodeString(o.Status) == "failed",
	})
}

// noteApproval adds a note about a call of an MCP server that the vendor makes only after an approval, which cairn
// cannot give. Servers that the configuration allows need no approval.
func (t *turn) noteApproval(it *item, o *outputItem) error {
	if !it.done {
		return nil
	}
	it.id = "" // a referenced request would require an answer
	fields, _ := wire.ReadObject(o.Raw)
	text := fmt.Sprintf(
		"[the model wants to call %.100q of the MCP server %.100q with %s. The provider asks for approval, "+
			"which cannot be given here: "+
			"the call has not been made. With \"require_approval\": \"never\" in the server's declaration in hosted_tools it "+
			"is made without.]",
		wire.DecodeString(o.Name), wire.DecodeString(fields["server_label"]), wire.Clip(wire.DecodeString(o.Arguments), 1000),
	)
	return t.appendPiece(it.find, textBlock, 0, wire.Quote(text))
}
