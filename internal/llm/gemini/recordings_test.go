package gemini_test

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
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var update = flag.Bool("update", false, "write the golden event files")

func decode(body io.Reader) iter.Seq2[llm.Event, error] {
	return gemini.Dialect{}.Decode("req-1", body)
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
			got, err := gemini.Dialect{}.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(llmtest.DecodeTree(t, x.Request), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
			if path := (gemini.Dialect{}).RequestPath("gemini-2.5-flash"); !strings.HasSuffix(x.URL, "/v1beta/"+path) {
				t.Errorf("%s is not of %s", path, x.URL)
			}
		})
	}
}

// parseRequest reads a recorded body back into the request that it came from.
func parseRequest(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	type content struct {
		Role  string
		Parts []struct{ Text string }
	}
	var w struct {
		Contents          []content
		SystemInstruction content
		Tools             []struct {
			FunctionDeclarations []struct {
				Name, Description string
				Parameters        jsontext.Value
			}
		}
		ToolConfig struct {
			FunctionCallingConfig struct{ AllowedFunctionNames []string }
		}
		GenerationConfig struct {
			MaxOutputTokens int
			Temperature     *float64
		}
	}
	if err := json.Unmarshal([]byte(body), &w, json.MatchCaseInsensitiveNames(true)); err != nil {
		tb.Fatal(err)
	}
	req := &llm.Request{
		Generate: llm.Generation{MaxTokens: w.GenerationConfig.MaxOutputTokens, Temperature: w.GenerationConfig.Temperature},
	}
	for _, p := range w.SystemInstruction.Parts {
		req.System = append(req.System, p.Text)
	}
	for _, c := range w.Contents {
		req.Messages = append(
			req.Messages, llm.Message{Role: llm.Role(c.Role), Parts: []llm.Part{llm.Text{Text: c.Parts[0].Text}}},
		)
	}
	for _, tool := range w.Tools {
		for _, f := range tool.FunctionDeclarations {
			req.Tools = append(req.Tools, llm.ToolDefinition{Name: f.Name, Description: f.Description, Schema: f.Parameters})
		}
	}
	if names := w.ToolConfig.FunctionCallingConfig.AllowedFunctionNames; len(names) > 0 {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: names[0]}
	}
	return req
}
