package dialog

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed todowrite.md
var writeDescription string

//go:embed todoread.md
var readDescription string

// The list is bounded because it is part of the session's row, which every step reads.
const writeSchema = `{"type":"object","properties":{
"todos":{"type":"array","maxItems":100,"description":"The whole new list, in order","items":{"type":"object","properties":{
"content":{"type":"string","minLength":1,"maxLength":500,"description":"What is to be done, in a few words"},
"status":{"type":"string","enum":["pending","in_progress","completed","cancelled"],"description":"How far it is"},
"priority":{"type":"string","enum":["high","medium","low"],"description":"How much it matters; medium if absent"}
},"required":["content","status"],"additionalProperties":false}}
},"required":["todos"],"additionalProperties":false}`

type todoWrite struct{}

// Definition describes the tool.
func (todoWrite) Definition() tool.Definition {
	return tool.Definition{
		Name: "todowrite", Description: strings.TrimSpace(writeDescription), Schema: jsontext.Value(writeSchema),
	}
}

// Run replaces the list in the same commit as the settlement of the call.
func (todoWrite) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		Todos []session.Todo `json:"todos"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	if err := call.Ask(ctx, tool.Request{Action: "todowrite", Resources: []string{"*"}, Save: []string{"*"}}); err != nil {
		return tool.Output{}, err
	}
	todos := append([]session.Todo{}, in.Todos...)
	for i := range todos {
		if todos[i].Priority == "" {
			todos[i].Priority = session.TodoMedium
		}
	}
	out := formatTodos(todos)
	out.Todos = todos
	return out, nil
}

type todoRead struct{}

// Definition describes the tool.
func (todoRead) Definition() tool.Definition {
	return tool.Definition{
		Name: "todoread", Description: strings.TrimSpace(readDescription),
		Schema: jsontext.Value(`{"type":"object","properties":{},"additionalProperties":false}`),
	}
}

// Run returns the list.
func (todoRead) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	if err := call.Ask(ctx, tool.Request{Action: "todoread", Resources: []string{"*"}, Save: []string{"*"}}); err != nil {
		return tool.Output{}, err
	}
	todos, err := call.Todos(ctx)
	if err != nil {
		return tool.Output{}, err
	}
	return formatTodos(append([]session.Todo{}, todos...)), nil
}

// formatTodos returns the list as JSON. The title counts the todos that are not completed.
func formatTodos(todos []session.Todo) tool.Output {
	left := 0
	for _, t := range todos {
		if t.Status != session.TodoCompleted {
			left++
		}
	}
	text := tool.EncodeObject(todos)
	_ = text.Indent(jsontext.WithIndent("  ")) // text is valid JSON
	return tool.TextOutput(fmt.Sprintf("%d todos", left), string(text), map[string]any{"todos": todos})
}
