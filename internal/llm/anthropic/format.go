package anthropic

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// format asks for a structured answer: natively where it can be said so, else by a tool that the model must call to answer. Beside other tools
// it must call one of them all; one that thinks cannot be forced, and is told.
func (d Dialect) format(b *body, req *llm.Request) {
	if len(req.Format) == 0 {
		return
	}
	if d.NativeFormat && closable(req.Format) {
		config, _ := wire.ReadObject(b.Extra["output_config"])
		if config == nil {
			config = wire.Object{}
		}
		config["format"] = wire.Write(map[string]jsontext.Value{
			"type": wire.Quote("json_schema"), "schema": wire.Rewrite(wire.Unmeasured(wire.ToolSchema(req.Format)), closed),
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

// closable reports whether a schema says what native formats can: objects of which all properties are named, and no
// choice but of any, nothing that refers to itself.
func closable(raw jsontext.Value) bool {
	ok := true
	wire.Rewrite(raw, func(o wire.Object) wire.Object {
		properties, _ := wire.ReadObject(o["properties"])
		open := o["additionalProperties"] != nil && string(o["additionalProperties"]) != "false"
		if string(o["type"]) == `"object"` && len(properties) == 0 || open {
			ok = false
		}
		for _, key := range []string{"contains", "dependentSchemas", "else", "if", "not", "oneOf", "patternProperties", "prefixItems", "propertyNames", "then"} {
			ok = ok && o[key] == nil
		}
		for _, key := range []string{"$defs", "definitions"} {
			ok = ok && !bytes.Contains(o[key], []byte(`"$ref"`))
		}
		return o
	})
	return ok
}

// closed is a schema as native formats take it: its objects have no other properties than those named.
func closed(o wire.Object) wire.Object {
	if string(o["type"]) == `"object"` || o["properties"] != nil {
		o["additionalProperties"] = jsontext.Value("false")
	}
	return o
}
