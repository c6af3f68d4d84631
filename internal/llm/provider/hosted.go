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

// hostedTools returns the declarations of the protocol's hosted tools by their names in configurations.
func (w Wire) hostedTools() map[string]string {
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

// DeclareHosted returns the definitions of hosted tools: each is a name of hostedTools or the vendor's own declaration.
// The error names a tool that is not available.
func (v Vendor) DeclareHosted(tools []jsontext.Value) ([]llm.ToolDefinition, error) {
	// The protocol of the vendor decides which tools there are.
	available := v.hostedTools()
	if len(tools) > 0 && available == nil {
		return nil, fmt.Errorf("provider %q has no hosted tools under the protocol of its models", v.ID)
	}
	var out []llm.ToolDefinition
	for _, tool := range tools {
		// A name stands for a built-in declaration; an object is the vendor's own.
		def := llm.ToolDefinition{Name: toolName(tool), Hosted: tool}
		if tool.Kind() == '"' {
			def.Hosted = jsontext.Value(available[def.Name])
		}
		if def.Name == "" || def.Hosted.Kind() != '{' {
			names := slices.Sorted(maps.Keys(available))
			return nil, fmt.Errorf(
				"provider %q has no hosted tool %.80s; use %s, or an object with the tool's declaration", v.ID, tool,
				strings.Join(names, ", "),
			)
		}
		// Refuse tools of the client, and drop duplicates.
		if problem := v.Wire.checkHostedTool(def.Hosted); problem != "" {
			return nil, fmt.Errorf("provider %q: %s", v.ID, problem)
		}
		if !slices.ContainsFunc(
			out, func(o llm.ToolDefinition) bool { return o.Name == def.Name && string(o.Hosted) == string(def.Hosted) },
		) {
			out = append(out, def) // vendors refuse duplicates
		}
	}
	// Sort by name, so that the same tools give the same request.
	slices.SortStableFunc(out, func(a, b llm.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// HostedExclusive reports whether hosted tools of the model cannot be combined with other tools.
func (v Vendor) HostedExclusive(modelID string) bool {
	return v.Wire == Gemini && !gemini.MixesTools(modelID)
}

// hostedTools returns the declarations of the vendor's hosted tools: those of its wire, with its own differences.
func (v Vendor) hostedTools() map[string]string {
	available := v.Wire.hostedTools()
	if v.TableID == "xai" && v.Wire == Responses {
		available["x_search"] = `{"type":"x_search"}`
		available["code_execution"] = `{"type":"code_interpreter"}`
		delete(available, "image_generation")
	}
	return available
}

// toolName returns the name of a tool: the text itself, or the name in its declaration.
func toolName(tool jsontext.Value) string {
	var name string
	if tool.Kind() == '"' {
		_ = json.Unmarshal(tool, &name) // an invalid string has no declaration
		return name
	}
	var fields map[string]jsontext.Value
	if json.Unmarshal(tool, &fields) != nil {
		return ""
	}
	for _, key := range []string{"name", "type"} {
		if json.Unmarshal(fields[key], &name) == nil && name != "" {
			return name
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		return key
	}
	return ""
}
