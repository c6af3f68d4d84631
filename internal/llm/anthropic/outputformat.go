package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// setFormat requests structured output: natively if the schema allows it, else with a tool that the model must call.
// With other tools it must call any of them; a reasoning model cannot be forced, so only the tool's description asks
// for the call.
func (d Dialect) setFormat(b *body, req *llm.Request) {
	if len(req.OutputSchema) == 0 {
		return
	}
	if fitted, ok := wire.AnthropicSubset().FitSchema(req.OutputSchema); d.NativeFormat && ok {
		config, _ := wire.ReadObject(b.Extra["output_config"])
		if config == nil {
			config = wire.Object{}
		}
		config["format"] = wire.MarshalOr(map[string]jsontext.Value{
			"type": wire.Quote("json_schema"), "schema": fitted,
		}, nil)
		b.Extra["output_config"] = wire.MarshalOr(config, nil)
		return
	}
	b.Tools = append(b.Tools, wire.MarshalOr(tool{
		wire.AnswerTool, wire.AnswerToolDescription, wire.OutputSchema(req.OutputSchema),
	}, nil))
	switch {
	case b.Thinking.IsEnabled():
	case len(req.Tools) == 0 || req.Choice.Mode == llm.ChooseNone:
		b.ToolChoice = &toolChoice{Type: "tool", Name: wire.AnswerTool}
	default:
		b.ToolChoice = &toolChoice{Type: "any"}
	}
}
