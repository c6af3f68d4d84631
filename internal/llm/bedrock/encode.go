package bedrock

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// body is the request body, with the parts that caches share first. Its named fields belong to the protocol; the others
// are in Extra.
type body struct {
	ModelID    string                    `json:"modelId"`
	ToolConfig *toolConfig               `json:"toolConfig,omitzero"`
	System     []block                   `json:"system,omitempty"`
	Messages   []message                 `json:"messages"`
	Inference  inference                 `json:"inferenceConfig,omitzero"`
	Extra      map[string]jsontext.Value `json:",embed"`
}

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitzero"`
	Temperature *float64 `json:"temperature,omitzero"`
	TopP        *float64 `json:"topP,omitzero"`
	Stop        []string `json:"stopSequences,omitempty"`
}

type toolConfig struct {
	Tools  []tool         `json:"tools"`
	Choice jsontext.Value `json:"toolChoice,omitzero"`
}

type tool struct {
	Spec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Schema      inputSchema `json:"inputSchema"`
}

type inputSchema struct {
	JSON jsontext.Value `json:"json"`
}

func newTool(name, description string, schema jsontext.Value) tool {
	return tool{toolSpec{wire.NormalizeToolName(name), description, inputSchema{schema}}}
}

// Encode returns the request body. Equal requests give equal bytes. Its error is an *llm.Error of class InvalidRequest
// that names the invalid option.
func (d Dialect) Encode(req *llm.Request) ([]byte, error) {
	g := req.Generate
	b := body{
		ModelID: req.Model, Messages: d.encodeMessages(req), System: d.encodeSystem(req), Extra: map[string]jsontext.Value{},
		Inference: inference{MaxTokens: g.MaxTokens, Temperature: g.Temperature, TopP: g.TopP, Stop: g.Stop},
	}
	// The fields of the model's own API, in which reasoning is configured.
	fields, thought, err := d.modelFields(req)
	if err != nil {
		return nil, err
	}
	// Models accept no temperature and top_p while they think, and Claude's newest never do. TopK is a field of
	// Claude's own API.
	if thought.IsEnabled() {
		b.Inference.Temperature, b.Inference.TopP = nil, nil
	} else if d.Claude && d.Thinking != wire.ThinkingAdaptiveXHigh && g.TopK != nil {
		fields["top_k"] = wire.MarshalOr(*g.TopK, nil)
	}
	if d.Thinking == wire.ThinkingAdaptiveXHigh {
		b.Inference.Temperature, b.Inference.TopP = nil, nil
	}
	if len(fields) > 0 {
		b.Extra["additionalModelRequestFields"] = wire.MarshalOr(fields, nil)
	}
	// Options of Converse itself.
	if v, ok := req.Options["guardrailConfig"]; ok {
		b.Extra["guardrailConfig"] = v
	}
	if tier, ok := req.Options["serviceTier"]; ok {
		b.Extra["serviceTier"] = wire.MarshalOr(map[string]jsontext.Value{"type": tier}, nil)
	}
	// Tools come last but one: their form depends on the calls in the messages. The request's Body overrides
	// everything.
	b.ToolConfig = encodeTools(req, hasCalls(b.Messages), thought.IsEnabled())
	if err := wire.OverlayBody(b.Extra, req); err != nil {
		return nil, err
	}
	return wire.Marshal(b)
}

// encodeSystem returns the system texts, each with its cache point.
func (d Dialect) encodeSystem(req *llm.Request) []block {
	var out []block
	for i, text := range req.System {
		b, ok := textBlock(text)
		if !ok {
			continue
		}
		out = append(out, b)
		if d.Caches && i < min(req.Breakpoints.System, wire.MaxBreakpoints) {
			out = append(out, cachePoint)
		}
	}
	return out
}

// encodeTools returns the tools and the tool choice. A history with calls requires at least one tool. The protocol
// cannot forbid calls, so no tools are sent if none may be called.
func encodeTools(req *llm.Request, hasCalls, isReasoning bool) *toolConfig {
	var c toolConfig
	// Declare the client's tools. Converse has no hosted ones.
	if req.Choice.Mode != llm.ChooseNone {
		for _, def := range req.Tools {
			if len(def.Hosted) == 0 {
				c.Tools = append(c.Tools, newTool(def.Name, def.Description, wire.ToolParameters(def)))
			}
		}
	}
	// Translate the tool choice; the model is free by default.
	switch {
	case isReasoning || len(c.Tools) == 0: // a reasoning model cannot be forced
	case req.Choice.Mode == llm.ChooseRequired:
		c.Choice = jsontext.Value(`{"any":{}}`)
	case req.Choice.Mode == llm.ChooseTool:
		c.Choice = forceTool(wire.NormalizeToolName(req.Choice.Name))
	}
	// A schema becomes a tool for the answer. A model that can be forced must call this or another tool.
	if len(req.OutputSchema) > 0 {
		if c.Choice == nil && !isReasoning && len(c.Tools) == 0 {
			c.Choice = forceTool(wire.AnswerTool)
		} else if !isReasoning {
			c.Choice = jsontext.Value(`{"any":{}}`)
		}
		c.Tools = append(c.Tools, newTool(wire.AnswerTool, wire.AnswerToolDescription, wire.OutputSchema(req.OutputSchema)))
	}
	// Without a tool, nothing is sent, except for a history with calls: the API refuses it without a declaration.
	if len(c.Tools) == 0 {
		if !hasCalls {
			return nil
		}
		c.Tools = []tool{newTool("_noop", "Not to be called.", wire.ToolSchema(nil))}
	}
	return &c
}

func forceTool(name string) jsontext.Value {
	return jsontext.Value(`{"tool":{"name":` + string(wire.Quote(name)) + `}}`)
}

func hasCalls(ms []message) bool {
	for _, m := range ms {
		for _, b := range m.Content {
			if b.ToolUse != nil {
				return true
			}
		}
	}
	return false
}

// reasoningConfig is the option of that name in the AI SDK's form.
type reasoningConfig struct {
	Type      string `json:"type"`
	Budget    int    `json:"budgetTokens"`
	MaxEffort string `json:"maxReasoningEffort"`
	Display   string `json:"display"`
}

// modelFields returns the fields that the model's maker defines, and the thinking configuration among them.
func (d Dialect) modelFields(req *llm.Request) (wire.Object, *wire.ThinkingConfig, error) {
	out, _ := wire.ReadObject(req.Options["additionalModelRequestFields"])
	if out == nil {
		out = wire.Object{}
	}
	thought, effort, err := d.parseReasoning(req)
	if err != nil {
		return nil, nil, err
	}
	thought = thought.FitTokens(outputTokens(req))
	switch {
	case d.Claude:
		if thought != nil {
			out["thinking"] = wire.MarshalOr(thought, nil)
		}
		if effort != "" {
			out["output_config"] = wire.MarshalOr(map[string]string{"effort": effort}, nil)
		}
	case effort != "" && d.Nova:
		out["reasoningConfig"] = wire.MarshalOr(map[string]string{"type": "enabled", "maxReasoningEffort": effort}, nil)
	case effort != "":
		out["reasoning_effort"] = wire.Quote(effort)
	}
	if !d.Claude {
		thought = nil
	}
	return out, thought, nil
}

// parseReasoning reads the reasoning options: the neutral effort, which the SDK's own option overrides.
func (d Dialect) parseReasoning(req *llm.Request) (thought *wire.ThinkingConfig, effort string, err error) {
	// The neutral effort: thinking for Claude, a plain effort for other models.
	if v := req.Options["reasoningEffort"]; len(v) > 0 {
		if v.Kind() != '"' {
			return nil, "", wire.NewInvalidRequest("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
		}
		if effort = wire.DecodeString(v); d.Claude {
			if thought, effort, err = d.Thinking.Configure(effort); err != nil {
				return nil, "", err
			}
		} else if effort == "none" {
			effort = ""
		}
	}
	// The SDK's option overrides what it sets, part by part.
	v := req.Options["reasoningConfig"]
	if len(v) == 0 {
		return thought, effort, nil
	}
	var c reasoningConfig
	if err := json.Unmarshal(v, &c); err != nil {
		return nil, "", wire.NewInvalidRequest(
			"the option reasoningConfig must be an object such as {\"type\": \"enabled\", \"budgetTokens\": 8000}, not %.80s", v,
		)
	}
	if c.Type != "" {
		thought = &wire.ThinkingConfig{Type: c.Type, Budget: c.Budget, Display: c.Display}
	}
	if c.MaxEffort != "" {
		effort = c.MaxEffort
	}
	return thought, effort, nil
}

// defaultMaxTokens is Claude's output limit for requests without one.
const defaultMaxTokens = 4096

func outputTokens(req *llm.Request) int {
	if req.Generate.MaxTokens > 0 {
		return req.Generate.MaxTokens
	}
	return defaultMaxTokens
}
