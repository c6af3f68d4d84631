package llmtest

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// UserMessage is what a user says.
func UserMessage(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

// AssistantMessage is an answer.
func AssistantMessage(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: parts}
}

// SystemMessage is an instruction in the middle of a conversation.
func SystemMessage(text string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{TextPart(text)}}
}

// TextPart is a plain text.
func TextPart(s string) llm.Part { return llm.Text{Text: s} }

// ToolCall is a call of a tool f.
func ToolCall(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "f", Input: jsontext.Value(`{"x":1}`)}
}

// ToolMessage is what the call of that id came to.
func ToolMessage(id string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: id, Content: parts}}}
}

// JoinLines is what Print writes of a stream.
func JoinLines(s ...string) string { return strings.Join(s, "\n") + "\n" }
