package openaichat_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

func TestExam(t *testing.T) {
	for name, d := range map[string]openaichat.Dialect{
		"plain": {}, "marks": {CacheField: "cache_control"},
		"mistral": {ReasoningField: openaichat.NoReasoning, CallIDs: openaichat.NineIDs, BridgeToolUser: true},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.Exam{
				Encode: d.Encode, Model: "m", Check: acceptable,
				Conversation: func(body []byte) ([]byte, error) {
					messages, _, ok := bytes.Cut(body, []byte(`],"tools":[`))
					if !ok {
						return nil, errors.New("the messages do not end where the tools begin")
					}
					return bytes.ReplaceAll(messages, []byte(`,"cache_control":{"type":"ephemeral"}`), nil), nil
				},
			}.Run(t)
		})
	}
}

type checkedMessage struct {
	Role       string
	Content    jsontext.Value
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// acceptable holds a body to what Chat endpoints insist on.
func acceptable(body []byte) error {
	var b struct {
		Messages   []checkedMessage
		Tools      []jsontext.Value
		ToolChoice jsontext.Value `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if b.ToolChoice != nil && len(b.Tools) == 0 {
		return errors.New("a choice without tools")
	}
	if n := bytes.Count(body, []byte(`"cache_control"`)); n > 4 {
		return fmt.Errorf("%d marks", n)
	}
	var open, used []string
	for i, m := range b.Messages {
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d of %s comes before the results of %v", i, m.Role, open)
		}
		if m.Content.Kind() == '[' {
			if list, _ := jsonList(m.Content); len(list) == 0 {
				return fmt.Errorf("message %d has an empty list", i)
			}
		}
		if (m.Content == nil || m.Content.Kind() == 'n') && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d says nothing", i)
		}
		for _, c := range m.ToolCalls {
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				return fmt.Errorf("message %d: arguments: %w", i, err)
			}
			if c.ID == "" || len(c.ID) > 64 || slices.Contains(used, c.ID) || llmtest.CheckToolName(c.Function.Name) != nil ||
				!bytes.HasPrefix([]byte(c.Function.Arguments), []byte("{")) {
				return fmt.Errorf("bad call %+v", c)
			}
			open, used = append(open, c.ID), append(used, c.ID)
		}
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return fmt.Errorf("message %d is the result of no call", i)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %v", open)
	}
	return nil
}

func jsonList(v jsontext.Value) (list []jsontext.Value, err error) {
	return list, json.Unmarshal(v, &list)
}

func TestEncodeMarks(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	text := func(s, mark string) string { return `[{"type":"text","text":"` + s + `"` + mark + `}]` }
	req := &llm.Request{
		System: []string{"a", "b", "c"},
		Messages: []llm.Message{
			user(textOf("q")), replies(call("1")), result("1", textOf("r")), replies(call("2")), result("2"),
		},
		Tools:       []llm.ToolDefinition{{Name: "search", Hosted: jsontext.Value(`{"type":"web_search"}`)}},
		Breakpoints: llm.CacheBreakpoints{System: 2, Messages: []int{0, 2, 4}},
	}
	calls := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id +
			`","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
	}
	want := `{"model":"","messages":[{"role":"system","content":[{"type":"text","text":"a"` + mark +
		`},{"type":"text","text":"b"` + mark + `},{"type":"text","text":"c"}]},` +
		`{"role":"user","content":` + text("q", mark) + `},` + calls("1") + `,{"role":"tool","content":` + text("r", mark) +
		`,"tool_call_id":"1"},` + calls("2") +
		`,{"role":"tool","content":"","tool_call_id":"2"}],"stream":true,"stream_options":{"include_usage":true}}`
	got, err := openaichat.Dialect{CacheField: "cache_control"}.Encode(req)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\n%s", err, want, got)
	}
	plain, err := openaichat.Dialect{}.Encode(req)
	if err != nil || bytes.Contains(plain, []byte("cache_control")) ||
		!bytes.Contains(plain, []byte(`"content":"a\nb\nc"`)) {
		t.Errorf("%v %s", err, plain)
	}
}
