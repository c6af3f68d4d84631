package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// body is the request body. Its named fields belong to the protocol; the others are in Extra.
type body struct {
	Model               string                    `json:"model"`
	Messages            []message                 `json:"messages"`
	Tools               []tool                    `json:"tools,omitempty"`
	ToolChoice          jsontext.Value            `json:"tool_choice,omitzero"`
	ResponseFormat      *responseFormat           `json:"response_format,omitzero"`
	Stream              bool                      `json:"stream"`
	StreamOptions       streamOptions             `json:"stream_options,omitzero"`
	MaxTokens           int                       `json:"max_tokens,omitzero"`
	MaxCompletionTokens int                       `json:"max_completion_tokens,omitzero"`
	Temperature         *float64                  `json:"temperature,omitzero"`
	TopP                *float64                  `json:"top_p,omitzero"`
	TopK                *int                      `json:"top_k,omitzero"`
	FrequencyPenalty    *float64                  `json:"frequency_penalty,omitzero"`
	PresencePenalty     *float64                  `json:"presence_penalty,omitzero"`
	Seed                *int64                    `json:"seed,omitzero"`
	Stop                []string                  `json:"stop,omitempty"`
	Extra               map[string]jsontext.Value `json:",embed"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  jsontext.Value `json:"parameters"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict bool           `json:"strict,omitzero"`
}

// Encode returns the request body. Equal requests give equal bytes. Its error is an *llm.Error of class InvalidRequest
// that names the invalid option.
func (d Dialect) Encode(req *llm.Request) ([]byte, error) {
	var err error
	if d.cacheTTL, err = wire.ParseCacheTTL(req); err != nil {
		return nil, err
	}
	// The plain parameters.
	b := body{
		Model:            req.Model,
		Messages:         d.encodeMessages(req),
		Stream:           true,
		StreamOptions:    streamOptions{IncludeUsage: !d.NoStreamOptions},
		Temperature:      req.Generate.Temperature,
		TopP:             req.Generate.TopP,
		FrequencyPenalty: req.Generate.FrequencyPenalty,
		PresencePenalty:  req.Generate.PresencePenalty,
		Stop:             req.Generate.Stop,
	}
	// Parameters that not all servers know, or know by another name.
	d.limitOutput(&b, req.Generate.MaxTokens)
	if d.SeedField == "" {
		b.Seed = req.Generate.Seed
	}
	if d.TopK {
		b.TopK = req.Generate.TopK
	}
	// Tools. Without tools a choice is refused.
	if b.Tools = d.encodeTools(req.Tools); len(b.Tools) > 0 {
		b.ToolChoice = d.encodeChoice(req.Choice)
	}
	// Structured output; strict if the schema fits OpenAI's subset.
	if len(req.OutputSchema) > 0 {
		schema, strict := wire.StrictSchema(req.OutputSchema)
		b.ResponseFormat = &responseFormat{
			Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Schema: schema, Strict: strict},
		}
	}
	// The vendor's own fields last: they may override the others.
	if b.Extra, err = d.extraFields(req); err != nil {
		return nil, err
	}
	return wire.Marshal(b)
}

func (d Dialect) limitOutput(b *body, tokens int) {
	if d.MaxTokensField == "max_completion_tokens" {
		b.MaxCompletionTokens = tokens
		return
	}
	b.MaxTokens = tokens
}

func (d Dialect) encodeTools(defs []llm.ToolDefinition) []tool {
	out := make([]tool, 0, len(defs))
	for _, def := range defs {
		if def.Hosted != nil || d.NoTools {
			continue // Chat has no hosted tools
		}
		out = append(out, tool{Type: "function", Function: function{
			Name:        def.Name,
			Description: def.Description,
			Parameters:  d.encodeSchema(def),
		}})
	}
	return out
}

// encodeChoice returns the tool_choice value; nil leaves it to the vendor, which means auto.
func (d Dialect) encodeChoice(c llm.ToolChoice) jsontext.Value {
	forced := c.Mode == llm.ChooseRequired || c.Mode == llm.ChooseTool
	switch {
	case forced && d.Choice == ChoiceAuto:
		return wire.Quote("auto")
	case c.Mode == llm.ChooseRequired && d.Choice == ChoiceAny:
		return wire.Quote("any")
	}
	switch c.Mode {
	case llm.ChooseAuto, llm.ChooseNone, llm.ChooseRequired:
		return wire.Quote(string(c.Mode))
	case llm.ChooseTool:
		return jsontext.Value(`{"type":"function","function":{"name":` + string(wire.Quote(c.Name)) + `}}`)
	default:
		return nil
	}
}
