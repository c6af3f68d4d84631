package openairesponses

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// body is the request body. Its named fields belong to the protocol; the others are in Extra.
type body struct {
	Model           string                    `json:"model"`
	Input           []jsontext.Value          `json:"input"`
	Tools           []jsontext.Value          `json:"tools,omitempty"`
	ToolChoice      jsontext.Value            `json:"tool_choice,omitzero"`
	Text            map[string]jsontext.Value `json:"text,omitempty"`
	Stream          bool                      `json:"stream"`
	Store           bool                      `json:"store"`
	MaxOutputTokens int                       `json:"max_output_tokens,omitzero"`
	Temperature     *float64                  `json:"temperature,omitzero"`
	TopP            *float64                  `json:"top_p,omitzero"`
	Extra           map[string]jsontext.Value `json:",embed"`
}

type tool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      bool           `json:"strict"`
}

type jsonFormat struct {
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict bool           `json:"strict"`
}

// Encode returns the request body. Equal requests give equal bytes. Its error is an *llm.Error of class InvalidRequest
// that names the invalid option.
func (d Dialect) Encode(req *llm.Request) ([]byte, error) {
	o, err := d.parseOptions(req)
	if err != nil {
		return nil, err
	}
	b := body{
		Model:           req.Model,
		Input:           d.encodeInput(req, o.store),
		Text:            o.text,
		Stream:          true,
		Store:           o.store,
		MaxOutputTokens: req.Generate.MaxTokens,
		Extra:           o.extra,
	}
	if !d.Reasoning {
		b.Temperature, b.TopP = req.Generate.Temperature, req.Generate.TopP
	}
	if len(req.Tools) > 0 {
		b.Tools = encodeTools(req.Tools)
		b.ToolChoice = encodeChoice(req.Choice)
	}
	return wire.Marshal(b)
}

// encodeTools declares the functions and the hosted tools.
func encodeTools(defs []llm.ToolDefinition) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(defs))
	for _, def := range defs {
		if def.Hosted != nil {
			out = append(out, def.Hosted)
			continue
		}
		own := tool{Type: "function", Name: def.Name, Description: def.Description, Parameters: wire.ToolParameters(def)}
		out = append(out, wire.MarshalOr(own, nil))
	}
	return out
}

// encodeChoice returns the tool_choice value; nil leaves it to the vendor, which means auto.
func encodeChoice(c llm.ToolChoice) jsontext.Value {
	switch c.Mode {
	case llm.ChooseAuto, llm.ChooseNone, llm.ChooseRequired:
		return wire.Quote(string(c.Mode))
	case llm.ChooseTool:
		return jsontext.Value(`{"type":"function","name":` + string(wire.Quote(c.Name)) + `}`)
	default:
		return nil
	}
}
