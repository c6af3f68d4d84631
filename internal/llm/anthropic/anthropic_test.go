package anthropic_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var update = flag.Bool("update", false, "write the golden event files")

func decode(body io.Reader) iter.Seq2[llm.Event, error] {
	return anthropic.Dialect{}.Decode("req-1", body)
}

func TestRecordedAnswers(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			llmtest.CheckRecordedAnswer(t, x, decode, *update)
			llmtest.CheckCutAnswer(t, x, decode)
		})
	}
}

// wireBlock is a block of a recorded request.
type wireBlock struct {
	Type, Text, ID, Name string
	Input                jsontext.Value
	ToolUseID            string `json:"tool_use_id"`
	Content              jsontext.Value
	Source               struct {
		Type, Data string
		MediaType  string `json:"media_type"`
	}
	Cache jsontext.Value `json:"cache_control"`
}

type wireMessage struct {
	Role    string
	Content []wireBlock
}

type wireBody struct {
	Model    string
	System   []wireBlock
	Messages []wireMessage
	Tools    []struct {
		Name, Description string
		Schema            jsontext.Value `json:"input_schema"`
	}
	ToolChoice  struct{ Type, Name string } `json:"tool_choice"`
	MaxTokens   int                         `json:"max_tokens"`
	Temperature *float64
}

// parseRequest reads a recorded body back into the request that it came from.
func parseRequest(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	var w wireBody
	if err := json.Unmarshal([]byte(body), &w, json.MatchCaseInsensitiveNames(true)); err != nil {
		tb.Fatal(err)
	}
	req := &llm.Request{Model: w.Model, Generate: llm.Generation{MaxTokens: w.MaxTokens, Temperature: w.Temperature}}
	for i, b := range w.System {
		req.System = append(req.System, b.Text)
		if b.Cache != nil {
			req.Breakpoints.System = i + 1
		}
	}
	for _, m := range w.Messages {
		out := llm.Message{Role: llm.Role(m.Role)}
		for _, b := range m.Content {
			out.Parts = append(out.Parts, parsePart(tb, b))
			if b.Type == "tool_result" {
				out.Role = llm.RoleTool
			}
			if b.Cache != nil {
				req.Breakpoints.Messages = append(req.Breakpoints.Messages, len(req.Messages))
			}
		}
		req.Messages = append(req.Messages, out)
	}
	for _, tool := range w.Tools {
		req.Tools = append(req.Tools, llm.ToolDefinition{Name: tool.Name, Description: tool.Description, Schema: tool.Schema})
	}
	if w.ToolChoice.Type == "tool" {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: w.ToolChoice.Name}
	}
	return req
}

func parsePart(tb testing.TB, b wireBlock) llm.Part {
	tb.Helper()
	switch b.Type {
	case "text":
		return llm.Text{Text: b.Text}
	case "image":
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		if err != nil {
			tb.Fatal(err)
		}
		return llm.Media{MediaType: b.Source.MediaType, Data: data}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input}
	case "tool_result":
		r := llm.ToolResult{ID: b.ToolUseID}
		var text string
		if json.Unmarshal(b.Content, &text) == nil {
			r.Content = []llm.Part{llm.Text{Text: text}}
			return r
		}
		var list []wireBlock
		if err := json.Unmarshal(b.Content, &list, json.MatchCaseInsensitiveNames(true)); err != nil {
			tb.Fatal(err)
		}
		for _, inner := range list {
			r.Content = append(r.Content, parsePart(tb, inner))
		}
		return r
	default:
		tb.Fatalf("a block of type %q", b.Type)
		return nil
	}
}

// TestRecordedRequests holds what we would send against what was sent. Messages of one side in a row are one to the
// provider.
func TestRecordedRequests(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			got, err := anthropic.Dialect{}.Encode(parseRequest(t, x.Request))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(joined(llmtest.DecodeTree(t, x.Request)), joined(llmtest.DecodeTree(t, string(got)))); diff !=
				"" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
		})
	}
}

func joined(tree any) any {
	body := tree.(map[string]any)
	var out []any
	for _, m := range body["messages"].([]any) {
		m := m.(map[string]any)
		if n := len(out); n > 0 && out[n-1].(map[string]any)["role"] == m["role"] {
			last := out[n-1].(map[string]any)
			last["content"] = append(last["content"].([]any), m["content"].([]any)...)
			continue
		}
		out = append(out, m)
	}
	body["messages"] = out
	return body
}

func TestExam(t *testing.T) {
	dialects := map[string]anthropic.Dialect{
		"old":    anthropic.NewDialect("claude-3-5-sonnet-20241022", false),
		"new":    anthropic.NewDialect("claude-opus-4-7", true),
		"system": anthropic.NewDialect("claude-opus-4-8", true),
	}
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			llmtest.Exam{
				Encode: d.Encode, Model: "claude", Check: acceptable, Metadata: signed,
				Conversation: func(body []byte) ([]byte, error) {
					list, _, ok := bytes.Cut(body, []byte(`}]}],"max_tokens":`))
					if !ok {
						return nil, errors.New("the messages do not end where the limit begins")
					}
					return bytes.ReplaceAll(list, []byte(`,"cache_control":{"type":"ephemeral"}`), nil), nil
				},
			}.Run(t)
		})
	}
}

func signed(r *rand.Rand) llm.Metadata {
	if r.IntN(4) == 0 {
		return llm.Metadata{"anthropic": jsontext.Value(`{"redactedData":"zz"}`)}
	}
	return llm.Metadata{"anthropic": jsontext.Value(`{"signature":"sig=="}`)}
}

// acceptable holds a body to what the Messages endpoint insists on.
func acceptable(body []byte) error {
	var b struct {
		System, Messages, Tools []jsontext.Value
		ToolChoice              struct{ Type string } `json:"tool_choice"`
		MaxTokens               int                   `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if n := bytes.Count(body, []byte(`"cache_control":`)); n > 4 {
		return fmt.Errorf("%d marks", n)
	}
	if len(b.Messages) == 0 || b.MaxTokens < 1 {
		return errors.New("no messages, or no limit")
	}
	v := validator{hosted: map[string]bool{}}
	for i, raw := range b.Messages {
		var m wireMessage
		if err := json.Unmarshal(raw, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			return err
		}
		if err := v.message(m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if err := v.CheckEnd(len(b.Tools)); err != nil {
		return err
	}
	if v.role == "assistant" && len(v.hosted) == 0 && !strings.HasSuffix(v.last, "_tool_result") {
		return errors.New("the conversation ends with an answer that nothing paused")
	}
	return nil
}

type validator struct {
	llmtest.Pairing
	role, last string
	hosted     map[string]bool
}

func (v *validator) message(m wireMessage) error {
	if m.Role == v.role {
		return errors.New("the role does not alternate")
	}
	if len(v.hosted) > 0 {
		return fmt.Errorf("hosted calls without results: %v", v.hosted)
	}
	if len(m.Content) == 0 {
		return errors.New("no content")
	}
	v.role = m.Role
	text := false
	for _, b := range m.Content {
		if err := v.CheckAnswered(); b.Type != "tool_result" && m.Role == "user" && err != nil {
			return fmt.Errorf("%s before results: %w", b.Type, err)
		}
		if (b.Type == "thinking" || b.Type == "redacted_thinking") && b.Cache != nil {
			return errors.New("a mark on a thought")
		}
		if err := v.block(b, m.Role); err != nil {
			return err
		}
		text = text || b.Type == "text"
	}
	if m.Role == "user" {
		return v.CheckAnswered()
	}
	return nil
}

func (v *validator) block(b wireBlock, role string) error {
	v.last = b.Type
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("empty text")
		}
	case "tool_use":
		if role != "assistant" {
			return fmt.Errorf("a call of the %s's", role)
		}
		return v.AddCall(b.ID, b.Name, b.Input)
	case "tool_result":
		if role != "user" {
			return fmt.Errorf("a result of the %s's", role)
		}
		return v.AddResult(b.ToolUseID)
	case "server_tool_use":
		v.hosted[b.ID] = true
	case "thinking", "redacted_thinking", "image", "document":
	default:
		if !strings.HasSuffix(b.Type, "_tool_result") || !v.hosted[b.ToolUseID] {
			return fmt.Errorf("a block of type %q", b.Type)
		}
		delete(v.hosted, b.ToolUseID)
	}
	return nil
}

func TestDecodeUnended(t *testing.T) {
	ends := `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
	llmtest.CheckUnended(t, decode, stream("", start("0", `{"type":"text"}`), says, stop("0"), ends))
}

func FuzzDecode(f *testing.F) {
	for _, x := range llmtest.LoadRecordings(f) {
		f.Add(x.Response, 5)
	}
	for _, tt := range streams {
		f.Add(tt.body, 3)
	}
	f.Fuzz(func(t *testing.T, body string, step int) { llmtest.CheckSplit(t, decode, body, step) })
}
