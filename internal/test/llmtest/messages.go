package llmtest

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// UserMessage returns a message of the user.
func UserMessage(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

// AssistantMessage returns an answer.
func AssistantMessage(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: parts}
}

// SystemMessage returns an instruction in the middle of a conversation.
func SystemMessage(text string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{TextPart(text)}}
}

// TextPart returns a text part.
func TextPart(s string) llm.Part { return llm.Text{Text: s} }

// ToolCall returns a call of a tool f.
func ToolCall(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "f", Input: jsontext.Value(`{"x":1}`)}
}

// ToolMessage returns the result of the call with that id.
func ToolMessage(id string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: id, Content: parts}}}
}

// JoinLines returns lines as Print formats them.
func JoinLines(s ...string) string { return strings.Join(s, "\n") + "\n" }
