package openairesponses_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

func TestExam(t *testing.T) {
	for name, d := range map[string]openairesponses.Dialect{"plain": {}, "reasoning": {Reasoning: true}} {
		t.Run(name, func(t *testing.T) {
			llmtest.Exam{
				Encode: d.Encode, Model: "gpt", Check: acceptable, Metadata: encrypted,
				Conversation: func(body []byte) ([]byte, error) {
					input, _, ok := bytes.Cut(body, []byte(`],"tools":[`))
					if !ok {
						return nil, errors.New("the input does not end where the tools begin")
					}
					return input, nil
				},
			}.Run(t)
		})
	}
}

func encrypted(r *rand.Rand) llm.Metadata {
	return ours(fmt.Sprintf(`"itemId":"rs_%d","reasoningEncryptedContent":"zz"`, r.IntN(1000)))
}

type checkedItem struct {
	Type, Role, Name, Arguments string
	CallID                      string `json:"call_id"`
	Content, Output             jsontext.Value
	Encrypted                   string `json:"encrypted_content"`
}

// acceptable holds a body to what the Responses endpoint insists on.
func acceptable(body []byte) error {
	var b struct {
		Input      []checkedItem
		Tools      []struct{ Name string }
		ToolChoice jsontext.Value `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if b.ToolChoice != nil && len(b.Tools) == 0 {
		return errors.New("a choice without tools")
	}
	var open, used []string
	for i, it := range b.Input {
		if len(open) > 0 && it.Role == "user" {
			return fmt.Errorf("item %d comes before the results of %v", i, open)
		}
		switch it.Type {
		case "function_call":
			if it.CallID == "" || len(it.CallID) > 64 || slices.Contains(used, it.CallID) ||
				llmtest.CheckToolName(it.Name) != nil || !strings.HasPrefix(it.Arguments, "{") {
				return fmt.Errorf("bad call %+v", it)
			}
			open, used = append(open, it.CallID), append(used, it.CallID)
		case "function_call_output":
			at := slices.Index(open, it.CallID)
			if at < 0 || !listed(it.Output) && it.Output.Kind() != '"' {
				return fmt.Errorf("bad result %+v", it)
			}
			open = slices.Delete(open, at, at+1)
		case "reasoning":
			if it.Encrypted == "" || i+1 == len(b.Input) || b.Input[i+1].Role == "user" {
				return fmt.Errorf("reasoning that cannot be read or leads to nothing: %+v", it)
			}
		case "":
			system := i == 0 && it.Content.Kind() == '"' && it.Role == "system"
			if !system && (!listed(it.Content) || it.Role != "user" && it.Role != "assistant") {
				return fmt.Errorf("bad message %+v", it)
			}
		default:
			return fmt.Errorf("an item of type %q", it.Type)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %v", open)
	}
	return nil
}

// listed reports whether v is a list of parts that say something.
func listed(v jsontext.Value) bool {
	var parts []struct {
		Type, Text string
		ImageURL   string `json:"image_url"`
		FileData   string `json:"file_data"`
		FileURL    string `json:"file_url"`
	}
	if json.Unmarshal(v, &parts, json.MatchCaseInsensitiveNames(true)) != nil || len(parts) == 0 {
		return false
	}
	for _, p := range parts {
		if p.Type == "" || p.Text+p.ImageURL+p.FileData+p.FileURL == "" {
			return false
		}
	}
	return true
}
