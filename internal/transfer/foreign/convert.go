package foreign

import (
	"encoding/base64"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// HasCall reports whether the session has a call of the program's id.
func (b *Builder) HasCall(id string) bool { return b.calls[id] != nil }

// EncodeText returns the text as the base64 of DataFile.
func EncodeText(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// With returns the object with the member set.
func (o Object) With(name string, v jsontext.Value) Object {
	out := maps.Clone(o)
	if out == nil {
		out = Object{}
	}
	out[name] = v
	return out
}

// ListOf returns a JSON list of the values.
func ListOf(values []jsontext.Value) jsontext.Value {
	out := jsontext.Value("[")
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// NewTodo returns a todo. A status that cairn does not have is pending.
func NewTodo(content, status string) session.Todo {
	t := session.Todo{Content: cleanText(content), Status: session.TodoStatus(status), Priority: session.TodoMedium}
	switch t.Status {
	case session.TodoPending, session.TodoInProgress, session.TodoCompleted, session.TodoCancelled:
	default:
		t.Status = session.TodoPending
	}
	return t
}

// TodoInput returns the arguments of todowrite.
func TodoInput(todos []session.Todo) Object {
	if todos == nil {
		todos = []session.Todo{}
	}
	v, err := json.Marshal(todos)
	if err != nil {
		v = jsontext.Value("[]")
	}
	return Object{"todos": v}
}
