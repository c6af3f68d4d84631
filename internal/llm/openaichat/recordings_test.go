package openaichat_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

var update = flag.Bool("update", false, "write the golden event files")

// newID is an id that the decoder made.
var newID = regexp.MustCompile(`call_[a-z2-7]{8}_(\d+)`)

type cassette struct {
	Interactions []struct {
		Request struct {
			URL  string `json:"url"`
			Body string `json:"body"`
		} `json:"request"`
		Response struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
		} `json:"response"`
	} `json:"interactions"`
}

// exchange is one recorded request and its answer.
type exchange struct{ name, request, response string }

func recordings(tb testing.TB) []exchange {
	tb.Helper()
	files, err := filepath.Glob("testdata/recordings/*/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no recordings: %v", err)
	}
	var out []exchange
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var c cassette
		if err := json.Unmarshal(data, &c); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		for i, in := range c.Interactions {
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(file), ".json"), i)
			out = append(out, exchange{name, in.Request.Body, in.Response.Body})
		}
	}
	return out
}

// events decodes body and prints one event per line, the error last.
func events(d openaichat.Dialect, body io.Reader) string {
	var out strings.Builder
	for e, err := range d.Decode("req-1", body) {
		if err != nil {
			fmt.Fprintf(&out, "error %v\n", err)
			continue
		}
		out.WriteString(line(e))
	}
	return out.String()
}

func line(e llm.Event) string {
	switch e := e.(type) {
	case llm.Opened:
		return fmt.Sprintf("opened %s\n", e.RequestID)
	case llm.TextStart:
		return fmt.Sprintf("text-start %s\n", e.ID)
	case llm.TextDelta:
		return fmt.Sprintf("text-delta %s %q\n", e.ID, e.Delta)
	case llm.TextEnd:
		return fmt.Sprintf("text-end %s\n", e.ID)
	case llm.ReasoningStart:
		return fmt.Sprintf("reasoning-start %s\n", e.ID)
	case llm.ReasoningDelta:
		return fmt.Sprintf("reasoning-delta %s %q\n", e.ID, e.Delta)
	case llm.ReasoningEnd:
		return fmt.Sprintf("reasoning-end %s%s\n", e.ID, meta(e.Metadata))
	case llm.ToolInputStart:
		return fmt.Sprintf("input-start %s %s\n", e.ID, e.Name)
	case llm.ToolInputDelta:
		return fmt.Sprintf("input-delta %s %q\n", e.ID, e.Delta)
	case llm.ToolInputEnd:
		return fmt.Sprintf("input-end %s\n", e.ID)
	case llm.ToolCallEvent:
		if e.Invalid != "" {
			return fmt.Sprintf("call %s %s INVALID %s: %q\n", e.ID, e.Name, e.Invalid, e.Raw)
		}
		return fmt.Sprintf("call %s %s %s%s\n", e.ID, e.Name, e.Input, meta(e.Metadata))
	case llm.Finish:
		u := e.Usage
		return fmt.Sprintf("finish %s in=%d out=%d reasoning=%d read=%d write=%d total=%d\n",
			e.Reason, u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, u.Total)
	default:
		return fmt.Sprintf("%T\n", e)
	}
}

func meta(m llm.Metadata) string {
	var out string
	for k, v := range m {
		out += " " + k + "=" + string(v)
	}
	return out
}

// slow gives n bytes per read.
type slow struct {
	s string
	n int
}

func (r *slow) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p, r.s[:min(r.n, len(r.s))])
	r.s = r.s[n:]
	return n, nil
}

func TestRecordedAnswers(t *testing.T) {
	for _, x := range recordings(t) {
		t.Run(x.name, func(t *testing.T) {
			got := events(openaichat.Dialect{}, strings.NewReader(x.response))
			golden := filepath.Join("testdata", "events", x.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
			for _, n := range []int{1, 2, 3, 7, 64, 1000} {
				if again := events(openaichat.Dialect{}, &slow{x.response, n}); again != got {
					t.Fatalf("split at every %d bytes:\n%s", n, cmp.Diff(got, again))
				}
			}
		})
	}
}

// TestRecordedAnswersCutShort cuts every recording in thousands of places. A prefix either ends as the whole does, because the
// finish marker was in it, or fails; it never calls a tool without the marker.
func TestRecordedAnswersCutShort(t *testing.T) {
	for _, x := range recordings(t) {
		t.Run(x.name, func(t *testing.T) {
			step := 1 + len(x.response)/2000 // all of them take quadratic time
			for cut := 0; cut < len(x.response); cut += step {
				prefix := x.response[:cut]
				got := events(openaichat.Dialect{}, strings.NewReader(prefix))
				finished := strings.Contains(got, "finish ")
				if finished == strings.Contains(got, "error ") {
					t.Fatalf("cut at %d: neither one end nor the other:\n%s", cut, got)
				}
				if strings.Contains(got, "\ncall ") && !finished {
					t.Fatalf("cut at %d: a call without a finish:\n%s", cut, got)
				}
			}
		})
	}
}

func TestRecordedRequests(t *testing.T) {
	for _, x := range recordings(t) {
		t.Run(x.name, func(t *testing.T) {
			req := parseRequest(t, x.request)
			got, err := openaichat.Dialect{Router: true}.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, x.request), tree(t, string(got))); diff != "" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
			again, _ := openaichat.Dialect{Router: true}.Encode(req)
			if string(again) != string(got) {
				t.Errorf("two encodings differ:\n%s\n%s", got, again)
			}
		})
	}
}

func tree(tb testing.TB, s string) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		tb.Fatalf("%v in %s", err, s)
	}
	return v
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
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: m.ToolCallID, Content: text}}})
		default:
			for _, c := range m.ToolCalls {
				text = append(text, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: jsontext.Value(c.Function.Arguments)})
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.Role(m.Role), Parts: text})
		}
	}
	for _, tool := range w.Tools {
		req.Tools = append(req.Tools, llm.ToolDefinition{Name: tool.Function.Name, Description: tool.Function.Description, Schema: tool.Function.Parameters})
	}
	if name := w.ToolChoice.Function.Name; name != "" {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	}
	return req
}
