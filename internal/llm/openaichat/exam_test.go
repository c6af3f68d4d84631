package openaichat_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm/llmtest"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

func TestExam(t *testing.T) {
	llmtest.Exam{
		Encode: openaichat.Dialect{}.Encode, Model: "m", Check: acceptable,
		Conversation: func(body []byte) ([]byte, error) {
			list, _, ok := bytes.Cut(body, []byte(`],"tools":`))
			if !ok {
				return nil, errors.New("the tools do not follow the messages")
			}
			return list, nil
		},
	}.Run(t)
}

// acceptable holds a body to what Chat endpoints insist on.
func acceptable(body []byte) error {
	var b struct {
		Messages []struct {
			Role       string `json:"role"`
			Content    any    `json:"content"`
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string                     `json:"id"`
				Function struct{ Arguments string } `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	open, used := map[string]bool{}, map[string]bool{}
	for i, m := range b.Messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d answers %q, which nobody asked", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		if m.Content == nil && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d says nothing", i)
		}
		for _, c := range m.ToolCalls {
			if used[c.ID] || c.ID == "" {
				return fmt.Errorf("message %d repeats the id %q", i, c.ID)
			}
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				return fmt.Errorf("message %d: arguments: %w", i, err)
			}
			open[c.ID], used[c.ID] = true, true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without results: %v", open)
	}
	return nil
}
