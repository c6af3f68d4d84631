package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// setFormat asks for a structured answer: natively where it can be said so, else by a tool that the model must call to answer. Beside other tools
// it must call one of them all; one that thinks cannot be forced, and is told.
func (d Dialect) setFormat(b *body, req *llm.Request) {
	if len(req.OutputSchema) == 0 {
		return
	}
	if held, ok := wire.AnthropicSubset().FitSchema(req.OutputSchema); d.NativeFormat && ok {
		config, _ := wire.ReadObject(b.Extra["output_config"])
		if config == nil {
			config = wire.Object{}
		}
		config["format"] = wire.MarshalOr(map[string]jsontext.Value{
			"type": wire.Quote("json_schema"), "schema": held,
		}, nil)
		b.Extra["output_config"] = wire.MarshalOr(config, nil)
		return
	}
	b.Tools = append(b.Tools, wire.MarshalOr(tool{
		answerTool, "Give the answer. Call this once, at the end, instead of writing text.", wire.OutputSchema(req.OutputSchema),
	}, nil))
	switch {
	case b.Thinking.IsEnabled():
	case len(req.Tools) == 0 || req.Choice.Mode == llm.ChooseNone:
		b.ToolChoice = &toolChoice{Type: "tool", Name: answerTool}
	default:
		b.ToolChoice = &toolChoice{Type: "any"}
	}
}
