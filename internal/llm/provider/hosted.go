package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
)

// declared are the tools that vendors run themselves, by the names that they have in configurations, as each protocol
// declares them.
func (w Wire) declared() map[string]string {
	switch w {
	case Messages:
		return map[string]string{
			"web_search":     `{"type":"web_search_20250305","name":"web_search"}`,
			"web_fetch":      `{"type":"web_fetch_20250910","name":"web_fetch"}`,
			"code_execution": `{"type":"code_execution_20250825","name":"code_execution"}`,
		}
	case Responses:
		return map[string]string{
			"web_search":       `{"type":"web_search"}`,
			"code_execution":   `{"type":"code_interpreter","container":{"type":"auto"}}`,
			"image_generation": `{"type":"image_generation"}`,
		}
	case Gemini:
		return map[string]string{
			"web_search":     `{"googleSearch":{}}`,
			"web_fetch":      `{"urlContext":{}}`,
			"code_execution": `{"codeExecution":{}}`,
		}
	case Chat, Converse:
	}
	return nil
}

// Hosted returns the declarations of tools that the vendor runs itself: each is a name of ours, or what the vendor wants
// to read. The error says what cannot be had.
func (v Vendor) Hosted(wanted []jsontext.Value) ([]llm.ToolDefinition, error) {
	offered := v.offered()
	if len(wanted) > 0 && offered == nil {
		return nil, fmt.Errorf("provider %q runs no tools itself by the protocol that its models are reached by", v.ID)
	}
	var out []llm.ToolDefinition
	for _, tool := range wanted {
		def := llm.ToolDefinition{Name: nameOf(tool), Hosted: tool}
		if tool.Kind() == '"' {
			def.Hosted = jsontext.Value(offered[def.Name])
		}
		if def.Name == "" || def.Hosted.Kind() != '{' {
			names := slices.Sorted(maps.Keys(offered))
			return nil, fmt.Errorf("provider %q runs no tool %.80s; it runs %s, or one whose declaration is given as an object", v.ID, tool, strings.Join(names, ", "))
		}
		if why := v.Wire.runsHere(def.Hosted); why != "" {
			return nil, fmt.Errorf("provider %q: %s", v.ID, why)
		}
		if !slices.ContainsFunc(out, func(o llm.ToolDefinition) bool { return o.Name == def.Name && string(o.Hosted) == string(def.Hosted) }) {
			out = append(out, def) // vendors refuse the same one twice
		}
	}
	slices.SortStableFunc(out, func(a, b llm.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// HostedAlone reports whether the vendor runs tools itself only in turns of the model that offer no others.
func (v Vendor) HostedAlone(modelID string) bool {
	return v.Wire == Gemini && !gemini.ToolsBeside(modelID)
}

// offered are the tools that the vendor runs: those of its wire, and what is different about its own.
func (v Vendor) offered() map[string]string {
	offered := v.Wire.declared()
	if v.Row == "xai" && v.Wire == Responses {
		offered["x_search"] = `{"type":"x_search"}`
		offered["code_execution"] = `{"type":"code_interpreter"}`
		delete(offered, "image_generation")
	}
	return offered
}

// nameOf is what a tool is called: the name itself, or what its declaration says of it.
func nameOf(tool jsontext.Value) string {
	var name string
	if tool.Kind() == '"' {
		_ = json.Unmarshal(tool, &name) // one that is none has no declaration
		return name
	}
	var said map[string]jsontext.Value
	if json.Unmarshal(tool, &said) != nil {
		return ""
	}
	for _, key := range []string{"name", "type"} {
		if json.Unmarshal(said[key], &name) == nil && name != "" {
			return name
		}
	}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		return key
	}
	return ""
}
