package lsp

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

//go:embed lsp.md
var description string

const schema = `{"type":"object","properties":{
"operation":{"type":"string","enum":["goToDefinition","findReferences","hover","documentSymbol","workspaceSymbol",
"goToImplementation","prepareCallHierarchy","incomingCalls","outgoingCalls"],"description":"The operation"},
"filePath":{"type":"string","minLength":1,"description":"The file, absolute or relative"},
"line":{"type":"integer","minimum":1,"description":"The line, from 1, as editors show it"},
"character":{"type":"integer","minimum":1,"description":"The column, from 1, as editors show it"},
"query":{"type":"string","description":"What workspaceSymbol looks for; empty for all symbols"}
},"required":["operation","filePath","line","character"],"additionalProperties":false}`

// maxResultBytes bounds the structured result of a call.
const maxResultBytes = 256 << 10

type queryTool struct {
	manager *Manager
	paths   workpath.Resolver
}

// NewTool returns the tool lsp, with OpenCode's parameters and results.
func NewTool(m *Manager, paths workpath.Resolver) tool.Tool { return &queryTool{m, paths} }

type toolInput struct {
	Operation string `json:"operation"`
	FilePath  string `json:"filePath"`
	Line      int    `json:"line"`
	Character int    `json:"character"`
	Query     string `json:"query"`
}

// Definition describes the tool.
func (t *queryTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "lsp", Description: strings.TrimSpace(description), Schema: jsontext.Value(schema), Action: "lsp",
	}
}

// Run asks the servers.
func (t *queryTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// Resolve the file, and ask for permission.
	in, err := tool.Input[toolInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	path, err := t.paths.Resolve(in.FilePath)
	if err != nil {
		return tool.Output{}, err
	}
	if err := path.AskOutside(ctx, call); err != nil {
		return tool.Output{}, err
	}
	ask := tool.Request{Action: "lsp", Resources: []string{"*"}, Save: []string{"*"}, Metadata: in.metadata(path.Real)}
	if err := call.Ask(ctx, ask); err != nil {
		return tool.Output{}, err
	}
	if path.Info == nil || path.IsDir() {
		return tool.Output{}, tool.Failf("File not found: %s", path.Abs)
	}
	// Query.
	list, err := t.manager.Ask(ctx, Query{
		Operation: in.Operation, Path: path.Real, Position: Position{in.Line - 1, in.Character - 1}, Text: in.Query,
	})
	switch {
	case ctx.Err() != nil:
		return tool.Output{}, context.Cause(ctx)
	case err != nil:
		return tool.Output{}, &tool.Failure{Message: err.Error()}
	}
	// Format.
	text, kept := formatResults(in.Operation, list)
	out := tool.TextOutput(in.title(path.Title()), tool.MarkImitations(call, path.Abs, text), object{"result": kept})
	out.Visited = []string{path.Real}
	return out, nil
}

// metadata is shown with the permission request, as OpenCode does.
func (in toolInput) metadata(path string) jsontext.Value {
	out := object{"operation": in.Operation}
	if in.Operation != "workspaceSymbol" {
		out["filePath"] = path
		if in.Operation != "documentSymbol" {
			out["line"], out["character"] = in.Line, in.Character
		}
	}
	return tool.EncodeObject(out)
}

func (in toolInput) title(path string) string {
	switch in.Operation {
	case "workspaceSymbol":
		return in.Operation
	case "documentSymbol":
		return in.Operation + " " + path
	}
	return fmt.Sprintf("%s %s:%d:%d", in.Operation, path, in.Line, in.Character)
}

// formatResults returns the results as OpenCode's text, and those that fit.
func formatResults(operation string, list []jsontext.Value) (string, []jsontext.Value) {
	kept, size := []jsontext.Value{}, 0
	for _, v := range list {
		if size += len(v); size > maxResultBytes {
			break
		}
		kept = append(kept, v)
	}
	if len(list) == 0 {
		return "No results found for " + operation, kept
	}
	text, err := json.Marshal(kept, jsontext.WithIndent("  "), lenient())
	if err != nil {
		return "No results found for " + operation, kept
	}
	if more := len(list) - len(kept); more > 0 {
		return fmt.Sprintf("%s\n(%d more results are not shown)", text, more), kept
	}
	return string(text), kept
}
