package openaichat_test

import (
	"flag"
	"io"
	"iter"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var update = flag.Bool("update", false, "write the golden event files")

// newID is an id that the decoder made.
var newID = regexp.MustCompile(`call_[a-z2-7]{8}_(\d+)`)

// events decodes body and prints one event per line, the error last.
func events(d openaichat.Dialect, body io.Reader) string { return llmtest.Print(decode(d)(body)) }

func decode(d openaichat.Dialect) llmtest.Decode {
	return func(body io.Reader) iter.Seq2[llm.Event, error] { return d.Decode("req-1", body) }
}

func TestRecordedAnswers(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) { llmtest.CheckRecordedAnswer(t, x, decode(openaichat.Dialect{}), *update) })
	}
}

func TestRecordedAnswersCutShort(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) { llmtest.CheckCutAnswer(t, x, decode(openaichat.Dialect{})) })
	}
}

func TestRecordedRequests(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			req := parseRequest(t, x.Request)
			got, err := openaichat.Dialect{Router: true}.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(llmtest.DecodeTree(t, x.Request), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
			again, _ := openaichat.Dialect{Router: true}.Encode(req)
			if string(again) != string(got) {
				t.Errorf("two encodings differ:\n%s\n%s", got, again)
			}
		})
	}
}

// parseRequest reads a recorded body back into the request that it came from.
func parseRequest(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	var w struct {
		Model    string
		Messages []struct {
			Role       string
			Content    *string
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        jsontext.Value
			}
		}
		ToolChoice  struct{ Function struct{ Name string } } `json:"tool_choice"`
		MaxTokens   int                                      `json:"max_tokens"`
		Temperature *float64
		Usage       jsontext.Value
	}
	if err := json.Unmarshal([]byte(body), &w, json.MatchCaseInsensitiveNames(true)); err != nil {
		tb.Fatal(err)
	}
	req := &llm.Request{Model: w.Model, Generate: llm.Generation{MaxTokens: w.MaxTokens, Temperature: w.Temperature}}
	if w.Usage != nil {
		req.Options = map[string]jsontext.Value{"usage": w.Usage}
	}
	for _, m := range w.Messages {
		var text []llm.Part
		if m.Content != nil {
			text = []llm.Part{llm.Text{Text: *m.Content}}
		}
		switch m.Role {
		case "system":
			req.System = append(req.System, *m.Content)
		case "tool":
			req.Messages = append(
				req.Messages, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: m.ToolCallID, Content: text}}},
			)
		default:
			for _, c := range m.ToolCalls {
				text = append(text, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: jsontext.Value(c.Function.Arguments)})
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.Role(m.Role), Parts: text})
		}
	}
	for _, tool := range w.Tools {
		req.Tools = append(
			req.Tools,
			llm.ToolDefinition{
				Name: tool.Function.Name, Description: tool.Function.Description, Schema: tool.Function.Parameters,
			},
		)
	}
	if name := w.ToolChoice.Function.Name; name != "" {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	}
	return req
}
