package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// body is the request body. Its named fields belong to the protocol; the others are in Extra. The model is part of the
// path.
type body struct {
	Contents   []content                 `json:"contents"`
	System     *content                  `json:"systemInstruction,omitzero"`
	Tools      []jsontext.Value          `json:"tools,omitempty"`
	ToolConfig *toolConfig               `json:"toolConfig,omitzero"`
	Generation generation                `json:"generationConfig,omitzero"`
	Extra      map[string]jsontext.Value `json:",embed"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type declarations struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
}

type toolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig"`
	// Invocations includes the calls and results of hosted tools in the answer, so that they can be sent back.
	Invocations bool `json:"includeServerSideToolInvocations,omitzero"`
}

type generation struct {
	MaxOutputTokens  int            `json:"maxOutputTokens,omitzero"`
	Temperature      *float64       `json:"temperature,omitzero"`
	TopP             *float64       `json:"topP,omitzero"`
	TopK             *int           `json:"topK,omitzero"`
	FrequencyPenalty *float64       `json:"frequencyPenalty,omitzero"`
	PresencePenalty  *float64       `json:"presencePenalty,omitzero"`
	Seed             *int64         `json:"seed,omitzero"`
	StopSequences    []string       `json:"stopSequences,omitempty"`
	Thinking         jsontext.Value `json:"thinkingConfig,omitzero"`
	Modalities       jsontext.Value `json:"responseModalities,omitzero"`
	Resolution       jsontext.Value `json:"mediaResolution,omitzero"`
	Image            jsontext.Value `json:"imageConfig,omitzero"`
	MimeType         string         `json:"responseMimeType,omitempty"`
	Schema           jsontext.Value `json:"responseSchema,omitzero"`
	JSONSchema       jsontext.Value `json:"responseJsonSchema,omitzero"`
}

// Encode returns the request body. Equal requests give equal bytes. Its error is an *llm.Error of class InvalidRequest
// that names the invalid option.
func (d Dialect) Encode(req *llm.Request) ([]byte, error) {
	b := body{Contents: d.encodeContents(req), Generation: newGeneration(req), Extra: map[string]jsontext.Value{}}
	if len(req.System) > 0 {
		b.System = &content{Parts: []part{{Text: joinTexts(req.System)}}}
	}
	var hasFunctions, isMixed bool
	if b.Tools, hasFunctions, isMixed = encodeTools(req); hasFunctions {
		b.ToolConfig = encodeChoice(req.Choice, isMixed && !d.Vertex)
	}
	for _, name := range []string{"safetySettings", "cachedContent", "labels"} {
		if v, ok := req.Options[name]; ok {
			b.Extra[name] = v
		}
	}
	if err := wire.OverlayBody(b.Extra, req); err != nil {
		return nil, err
	}
	return wire.Marshal(b)
}

func newGeneration(req *llm.Request) generation {
	g := generation{
		MaxOutputTokens:  req.Generate.MaxTokens,
		Temperature:      req.Generate.Temperature,
		TopP:             req.Generate.TopP,
		TopK:             req.Generate.TopK,
		FrequencyPenalty: req.Generate.FrequencyPenalty,
		PresencePenalty:  req.Generate.PresencePenalty,
		Seed:             req.Generate.Seed,
		StopSequences:    req.Generate.Stop,
		Thinking:         encodeThinking(req.Options["thinkingConfig"]),
		Modalities:       req.Options["responseModalities"],
		Resolution:       req.Options["mediaResolution"],
		Image:            req.Options["imageConfig"],
	}
	switch {
	case len(req.OutputSchema) == 0:
	case versionOf(req.Model) >= 25: // supports references and closed objects
		g.MimeType, g.JSONSchema = "application/json", encodeJSONSchema(req.OutputSchema)
	default:
		g.MimeType, g.Schema = "application/json", encodeSchema(req.OutputSchema)
	}
	return g
}

// encodeThinking returns the thinking option. The vendor refuses to include thoughts that are disabled.
func encodeThinking(v jsontext.Value) jsontext.Value {
	fields, _ := wire.ReadObject(v)
	if string(fields["thinkingBudget"]) != "0" || string(fields["includeThoughts"]) != "true" {
		return v
	}
	delete(fields, "includeThoughts")
	return wire.MarshalOr(fields, v)
}

// encodeTools declares the functions in one entry and each hosted tool in its own. hasFunctions reports whether there
// are functions, to which alone a tool choice applies; isMixed, whether there are both. Models before version 3 accept
// only one kind: the functions then.
func encodeTools(req *llm.Request) (out []jsontext.Value, hasFunctions, isMixed bool) {
	var own declarations
	for _, def := range req.Tools {
		if def.Hosted != nil {
			out = append(out, def.Hosted)
			continue
		}
		own.Functions = append(
			own.Functions, function{Name: def.Name, Description: def.Description, Parameters: encodeSchema(def.Schema)},
		)
	}
	switch {
	case len(own.Functions) == 0:
		return out, false, false
	case !MixesTools(req.Model):
		out = nil
	}
	return append([]jsontext.Value{wire.MarshalOr(own, nil)}, out...), true, len(out) > 0
}

// encodeChoice returns the calling mode; nil leaves it to the vendor, which means auto.
func encodeChoice(c llm.ToolChoice, isMixed bool) *toolConfig {
	t := toolConfig{Invocations: isMixed}
	switch c.Mode {
	case llm.ChooseNone:
		t.Calling.Mode = "NONE"
	case llm.ChooseRequired:
		t.Calling.Mode = "ANY"
	case llm.ChooseTool:
		t.Calling.Mode, t.Calling.Allowed = "ANY", []string{c.Name}
	case llm.ChooseAuto:
		t.Calling.Mode = "AUTO"
	default:
		if !isMixed {
			return nil
		}
	}
	if isMixed && (t.Calling.Mode == "AUTO" || t.Calling.Mode == "") {
		t.Calling.Mode = "VALIDATED" // the vendor's mode for both kinds
	}
	return &t
}
