package llmtest

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// User is what a user says.
func User(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

// Replies is an answer.
func Replies(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: parts}
}

// System is an instruction in the middle of a conversation.
func System(text string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{Text(text)}}
}

// Text is a plain text.
func Text(s string) llm.Part { return llm.Text{Text: s} }

// Call is a call of a tool f.
func Call(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "f", Input: jsontext.Value(`{"x":1}`)}
}

// Result is what the call of that id came to.
func Result(id string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: id, Content: parts}}}
}

// Lines is what Print writes of a stream.
func Lines(s ...string) string { return strings.Join(s, "\n") + "\n" }
