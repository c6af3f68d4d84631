package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// format asks for a structured answer: natively, else by a tool that the model must call to answer. Beside other tools
// it must call one of them all; one that thinks cannot be forced, and is told.
func (d Dialect) format(b *body, req *llm.Request) {
	if len(req.Format) == 0 {
		return
	}
	if d.NativeFormat {
		config, _ := wire.ReadObject(b.Extra["output_config"])
		if config == nil {
			config = wire.Object{}
		}
		config["format"] = wire.Write(map[string]jsontext.Value{
			"type": wire.Quote("json_schema"), "schema": wire.Rewrite(wire.ToolSchema(req.Format), strict),
		}, nil)
		b.Extra["output_config"] = wire.Write(config, nil)
		return
	}
	b.Tools = append(b.Tools, wire.Write(tool{
		answerTool, "Give the answer. Call this once, at the end, instead of writing text.", wire.ToolSchema(req.Format),
	}, nil))
	switch {
	case b.Thinking.On():
	case len(req.Tools) == 0 || req.Choice.Mode == llm.ChooseNone:
		b.ToolChoice = &toolChoice{Type: "tool", Name: answerTool}
	default:
		b.ToolChoice = &toolChoice{Type: "any"}
	}
}

// strict is a schema as native formats take it: objects are closed, and nothing counts or measures.
func strict(o wire.Object) wire.Object {
	if string(o["type"]) == `"object"` || o["properties"] != nil {
		o["additionalProperties"] = jsontext.Value("false")
	}
	for _, key := range []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
		"maxItems", "uniqueItems", "minProperties", "maxProperties", "pattern", "patternProperties",
	} {
		delete(o, key)
	}
	return o
}
