package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// defaultMaxTokens is the output limit of a request without one: the protocol requires it.
const defaultMaxTokens = 4096

// body is the request body, with the parts that caches share first. Its named fields belong to the protocol; the others
// are in Extra.
type body struct {
	Model       string                    `json:"model,omitempty"`
	Tools       []jsontext.Value          `json:"tools,omitempty"`
	System      []block                   `json:"system,omitempty"`
	Messages    []message                 `json:"messages"`
	MaxTokens   int                       `json:"max_tokens"`
	Stream      bool                      `json:"stream"`
	ToolChoice  *toolChoice               `json:"tool_choice,omitzero"`
	Thinking    *wire.ThinkingConfig      `json:"thinking,omitzero"`
	Temperature *float64                  `json:"temperature,omitzero"`
	TopP        *float64                  `json:"top_p,omitzero"`
	TopK        *int                      `json:"top_k,omitzero"`
	Stop        []string                  `json:"stop_sequences,omitempty"`
	Extra       map[string]jsontext.Value `json:",embed"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	InputSchema jsontext.Value `json:"input_schema"`
}

type toolChoice struct {
	Type       string `json:"type"`
	Name       string `json:"name,omitempty"`
	NoParallel bool   `json:"disable_parallel_tool_use,omitzero"`
}

// Encode returns the request body. Equal requests give equal bytes. Its error is an *llm.Error of class InvalidRequest
// that names the invalid option.
func (d Dialect) Encode(req *llm.Request) ([]byte, error) {
	opt, err := d.parseOptions(req)
	if err != nil {
		return nil, err
	}
	b := body{
		Model: req.Model, MaxTokens: req.Generate.MaxTokens, Stream: true, Stop: req.Generate.Stop,
		Tools: encodeTools(req.Tools), System: systemTexts(req.System), Messages: d.encodeMessages(req, opt),
		Extra: opt.extra,
	}
	if b.MaxTokens <= 0 {
		b.MaxTokens = defaultMaxTokens
	}
	b.Thinking = opt.thinking.FitTokens(b.MaxTokens)
	d.setSampling(&b, req.Generate)
	d.setFormat(&b, req)
	b.setToolChoice(req, opt)
	cached, _ := opt.placeBreakpoints(req)
	markBlocks(b.System[:min(cached, len(b.System))], opt.ttl)
	if d.Vertex {
		b.Model, b.Extra["anthropic_version"] = "", wire.Quote("vertex-2023-10-16")
	}
	if err := wire.OverlayBody(b.Extra, req); err != nil {
		return nil, err
	}
	return wire.Marshal(b)
}

// setSampling sets the sampling controls that the model accepts; a reasoning model accepts few.
func (d Dialect) setSampling(b *body, g llm.Generation) {
	if d.NoSampling {
		return
	}
	b.Temperature, b.TopP, b.TopK = g.Temperature, g.TopP, g.TopK
	if !b.Thinking.IsEnabled() {
		return
	}
	b.Temperature, b.TopK = nil, nil
	if b.TopP != nil && *b.TopP < 0.95 {
		b.TopP = nil
	}
}

func systemTexts(texts []string) []block {
	var out []block
	for _, text := range texts {
		if b, ok := textBlock(text); ok {
			out = append(out, b)
		}
	}
	return out
}

func encodeTools(defs []llm.ToolDefinition) []jsontext.Value {
	var out []jsontext.Value
	for _, def := range defs {
		if def.Hosted.Kind() == '{' {
			out = append(out, def.Hosted)
			continue
		}
		out = append(
			out, wire.MarshalOr(tool{wire.NormalizeToolName(def.Name), def.Description, wire.ToolParameters(def)}, nil),
		)
	}
	return out
}

// setToolChoice sets the tool choice. A reasoning model cannot be forced to call a tool, and a history with calls
// requires at least one tool.
func (b *body) setToolChoice(req *llm.Request, opt options) {
	if len(b.Tools) == 0 {
		if !hasCalls(b.Messages) {
			return
		}
		b.Tools = []jsontext.Value{wire.MarshalOr(tool{"_noop", "Not to be called.", wire.ToolSchema(nil)}, nil)}
		b.ToolChoice = &toolChoice{Type: "none"}
		return
	}
	forced := !b.Thinking.IsEnabled()
	switch {
	case b.ToolChoice != nil: // set by setFormat
	case req.Choice.Mode == llm.ChooseNone:
		b.ToolChoice = &toolChoice{Type: "none"}
	case req.Choice.Mode == llm.ChooseRequired && forced:
		b.ToolChoice = &toolChoice{Type: "any"}
	case req.Choice.Mode == llm.ChooseTool && forced:
		b.ToolChoice = &toolChoice{Type: "tool", Name: wire.NormalizeToolName(req.Choice.Name)}
	case req.Choice.Mode == llm.ChooseAuto, opt.noParallel:
		b.ToolChoice = &toolChoice{Type: "auto"}
	}
	if b.ToolChoice != nil && b.ToolChoice.Type != "none" {
		b.ToolChoice.NoParallel = opt.noParallel
	}
}

func hasCalls(ms []message) bool {
	for _, m := range ms {
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				return true
			}
		}
	}
	return false
}
