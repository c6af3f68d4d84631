package openairesponses_test

import (
	"flag"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var update = flag.Bool("update", false, "write the golden event files")

func decode(body io.Reader) iter.Seq2[llm.Event, error] {
	return openairesponses.Dialect{}.Decode("req-1", body)
}

func TestRecordedAnswers(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) { llmtest.CheckRecordedAnswer(t, x, decode, *update) })
	}
}

func TestRecordedAnswersCutShort(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) { llmtest.CheckCutAnswer(t, x, decode) })
	}
}

func TestRecordedRequests(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			req := parseRequest(t, x.Request)
			reasons := strings.HasPrefix(req.Model, "gpt-5")
			got, err := openairesponses.Dialect{Reasoning: reasons}.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := llmtest.DecodeTree(t, x.Request).(map[string]any)
			if _, said := want["store"]; !said {
				want["store"] = false // recorded before it was always said
			}
			if _, said := want["include"]; !said && reasons {
				want["include"] = []any{"reasoning.encrypted_content"} // and so was this
			}
			if diff := cmp.Diff(any(want), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
		})
	}
}

type wireItem struct {
	Type, Role, Name string
	Content, Output  jsontext.Value
	CallID           string `json:"call_id"`
	Arguments        string
}

// parseRequest reads a recorded body back into the request that it came from.
func parseRequest(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	var w struct {
		Model string
		Input []wireItem
		Tools []struct {
			Name, Description string
			Parameters        jsontext.Value
		}
		ToolChoice      struct{ Name string } `json:"tool_choice"`
		MaxOutputTokens int                   `json:"max_output_tokens"`
		CacheKey        string                `json:"prompt_cache_key"`
		Reasoning       struct{ Effort, Summary jsontext.Value }
		Text            struct{ Verbosity jsontext.Value }
		Include         jsontext.Value
		Temperature     *float64
	}
	if err := json.Unmarshal([]byte(body), &w, json.MatchCaseInsensitiveNames(true)); err != nil {
		tb.Fatal(err)
	}
	req := &llm.Request{
		Model: w.Model, CacheKey: w.CacheKey, Options: map[string]jsontext.Value{},
		Generate: llm.Generation{MaxTokens: w.MaxOutputTokens, Temperature: w.Temperature},
	}
	for name, v := range map[string]jsontext.Value{
		"reasoningEffort": w.Reasoning.Effort, "reasoningSummary": w.Reasoning.Summary, "textVerbosity": w.Text.Verbosity,
		"include": w.Include,
	} {
		if v != nil {
			req.Options[name] = v
		}
	}
	for _, it := range w.Input {
		if it.Role == "system" {
			var text string
			if err := json.Unmarshal(it.Content, &text); err != nil {
				tb.Fatal(err)
			}
			req.System = append(req.System, text)
			continue
		}
		req.Messages = append(req.Messages, parseItem(tb, it))
	}
	for _, tool := range w.Tools {
		req.Tools = append(
			req.Tools, llm.ToolDefinition{Name: tool.Name, Description: tool.Description, Schema: tool.Parameters},
		)
	}
	if w.ToolChoice.Name != "" {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: w.ToolChoice.Name}
	}
	return req
}

func parseItem(tb testing.TB, it wireItem) llm.Message {
	tb.Helper()
	switch it.Type {
	case "function_call":
		return llm.Message{
			Role:  llm.RoleAssistant,
			Parts: []llm.Part{llm.ToolCall{ID: it.CallID, Name: it.Name, Input: jsontext.Value(it.Arguments)}},
		}
	case "function_call_output":
		return llm.Message{
			Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: it.CallID, Content: parseParts(tb, it.Output)}},
		}
	default:
		return llm.Message{Role: llm.Role(it.Role), Parts: parseParts(tb, it.Content)}
	}
}

func parseParts(tb testing.TB, v jsontext.Value) []llm.Part {
	tb.Helper()
	var parts []struct {
		Text     string
		ImageURL string `json:"image_url"`
	}
	if err := json.Unmarshal(v, &parts, json.MatchCaseInsensitiveNames(true)); err != nil {
		tb.Fatal(err)
	}
	var out []llm.Part
	for _, p := range parts {
		if p.ImageURL != "" {
			out = append(out, llm.Media{MediaType: "image/png", URL: p.ImageURL})
			continue
		}
		out = append(out, llm.Text{Text: p.Text})
	}
	return out
}
