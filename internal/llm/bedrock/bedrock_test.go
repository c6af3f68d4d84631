package bedrock_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var lines = llmtest.JoinLines

var update = flag.Bool("update", false, "write the golden event files")

func decode(body io.Reader) iter.Seq2[llm.Event, error] {
	return bedrock.Dialect{}.Decode("req-1", body)
}

func TestRecordedAnswers(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			llmtest.CheckRecordedAnswer(t, x, decode, *update)
			llmtest.CheckCutAnswer(t, x, decode)
		})
	}
}

// TestRecordedRequests holds what we would send, and where, against what was sent.
func TestRecordedRequests(t *testing.T) {
	for _, x := range llmtest.LoadRecordings(t) {
		t.Run(x.Name, func(t *testing.T) {
			var w struct {
				ModelID  string
				System   []struct{ Text string }
				Messages []struct {
					Role    string
					Content []struct{ Text string }
				}
				InferenceConfig struct {
					MaxTokens   int
					Temperature *float64
				}
				ToolConfig struct {
					Tools []struct {
						ToolSpec struct {
							Name, Description string
							InputSchema       struct{ JSON jsontext.Value }
						}
					}
					ToolChoice struct{ Tool struct{ Name string } }
				}
			}
			if err := json.Unmarshal([]byte(x.Request), &w, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			req := &llm.Request{
				Model:    w.ModelID,
				Generate: llm.Generation{MaxTokens: w.InferenceConfig.MaxTokens, Temperature: w.InferenceConfig.Temperature},
			}
			for _, s := range w.System {
				req.System = append(req.System, s.Text)
			}
			for _, m := range w.Messages {
				req.Messages = append(
					req.Messages, llm.Message{Role: llm.Role(m.Role), Parts: []llm.Part{llm.Text{Text: m.Content[0].Text}}},
				)
			}
			for _, tool := range w.ToolConfig.Tools {
				spec := tool.ToolSpec
				req.Tools = append(
					req.Tools, llm.ToolDefinition{Name: spec.Name, Description: spec.Description, Schema: spec.InputSchema.JSON},
				)
			}
			if name := w.ToolConfig.ToolChoice.Tool.Name; name != "" {
				req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
			}
			d := bedrock.NewDialect(w.ModelID, false)
			got, err := d.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(llmtest.DecodeTree(t, x.Request), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-recorded +ours:\n%s", diff)
			}
			if !strings.HasSuffix(x.URL, "/"+d.RequestPath(w.ModelID)) {
				t.Errorf("%s is not where %s went", d.RequestPath(w.ModelID), x.URL)
			}
		})
	}
}

func TestExam(t *testing.T) {
	for _, model := range []string{
		"anthropic.claude-3-haiku-20240307-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"meta.llama3-1-8b-instruct-v1:0",
	} {
		t.Run(model, func(t *testing.T) {
			d := bedrock.NewDialect(model, true)
			llmtest.Exam{
				Encode: d.Encode, Model: model, Check: acceptable,
				Metadata: func(r *rand.Rand) llm.Metadata {
					if r.IntN(4) == 0 {
						return llm.Metadata{"bedrock": jsontext.Value(`{"redactedData":"eno="}`)}
					}
					return llm.Metadata{"bedrock": jsontext.Value(`{"signature":"sig=="}`)}
				},
				Conversation: func(body []byte) ([]byte, error) {
					body = bytes.ReplaceAll(body, []byte(`,{"cachePoint":{"type":"default"}}`), nil)
					list, ok := bytes.CutSuffix(body, []byte(`]}]}`))
					if !ok {
						return nil, errors.New("the messages are not last")
					}
					return list, nil
				},
			}.Run(t)
		})
	}
}

type wireBlock struct {
	Text            string
	Image, Document *struct{ Format, Name string }
	ToolUse         *struct {
		ToolUseID string
		Name      string
		Input     jsontext.Value
	}
	ToolResult *struct {
		ToolUseID string
		Content   []wireBlock
	}
	ReasoningContent, CachePoint jsontext.Value
}

// acceptable holds a body to what Converse insists on.
func acceptable(body []byte) error {
	var b struct {
		Messages []struct {
			Role    string
			Content []wireBlock
		}
		ToolConfig *struct{ Tools []jsontext.Value }
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if n := bytes.Count(body, []byte(`"cachePoint"`)); n > 4 {
		return fmt.Errorf("%d cache points", n)
	}
	v := validator{names: map[string]bool{}}
	for i, m := range b.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("message %d is the %s's", i, m.Role)
		}
		if err := v.message(m.Role, m.Content); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	switch {
	case len(b.Messages)%2 == 0:
		return errors.New("the user does not have the last word")
	case b.ToolConfig == nil:
		return v.CheckEnd(0)
	}
	return v.CheckEnd(len(b.ToolConfig.Tools))
}

type validator struct {
	llmtest.Pairing
	names map[string]bool
}

func (v *validator) message(role string, content []wireBlock) error {
	text, document := false, false
	for i, b := range content {
		if err := v.CheckAnswered(); b.ToolResult == nil && b.CachePoint == nil && role == "user" && err != nil {
			return fmt.Errorf("block %d comes before results: %w", i, err)
		}
		if b.CachePoint != nil && (i == 0 || content[i-1].ReasoningContent != nil) {
			return errors.New("a cache point after nothing, or after a thought")
		}
		if err := v.block(b); err != nil {
			return err
		}
		text, document = text || b.Text != "", document || b.Document != nil
	}
	switch {
	case len(content) == 0:
		return errors.New("no content")
	case document && !text:
		return errors.New("a document without a text")
	case role == "user":
		return v.CheckAnswered()
	}
	return nil
}

func (v *validator) block(b wireBlock) error {
	switch {
	case b.ToolUse != nil:
		return v.AddCall(b.ToolUse.ToolUseID, b.ToolUse.Name, b.ToolUse.Input)
	case b.ToolResult != nil:
		if err := v.AddResult(b.ToolResult.ToolUseID); err != nil {
			return err
		}
		if len(b.ToolResult.Content) == 0 {
			return errors.New("an empty result")
		}
		for _, inner := range b.ToolResult.Content {
			if err := v.block(inner); err != nil {
				return err
			}
		}
	case b.Document != nil:
		name := b.Document.Name
		if v.names[name] || strings.Trim(name, llmtest.WordLetters+" ()[]") != "" || strings.Contains(name, "  ") ||
			strings.Contains(name, "_") || name == "" {
			return fmt.Errorf("a document's name %q", name)
		}
		v.names[name] = true
	case b.Image != nil, b.ReasoningContent != nil, b.CachePoint != nil:
	default:
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("empty text")
		}
	}
	return nil
}

// frame is one frame of an event stream.
func frame(tb testing.TB, kind, name, payload string) string {
	tb.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	m.Headers.Set(
		map[string]string{"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[kind],
		eventstream.StringValue(name),
	)
	if kind == "error" {
		m.Headers.Set(":error-message", eventstream.StringValue(payload))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// events is a stream of events, written as name and payload.
func events(tb testing.TB, pairs ...string) string {
	tb.Helper()
	out := frame(tb, "event", "messageStart", `{"role":"assistant"}`)
	for i := 0; i < len(pairs); i += 2 {
		out += frame(tb, "event", pairs[i], pairs[i+1])
	}
	return out
}

const (
	start   = "contentBlockStart"
	piece   = "contentBlockDelta"
	stop    = "contentBlockStop"
	ends    = "messageStop"
	meta    = "metadata"
	says    = `{"contentBlockIndex":0,"delta":{"text":"hi"}}`
	endTurn = `{"stopReason":"end_turn"}`
	counts  = `{"usage":{"inputTokens":5,"outputTokens":7,"totalTokens":12}}`
	counted = " in=5 out=7 reasoning=0 read=0 write=0 total=12"
	nothing = " in=0 out=0 reasoning=0 read=0 write=0 total=0"
)

func streams(tb testing.TB) []struct{ name, body, want string } {
	tb.Helper()
	textHi := []string{"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0"}
	begun := lines(textHi[:3]...)
	return []struct{ name, body, want string }{
		{
			"text",
			events(
				tb, piece, says, piece, `{"contentBlockIndex":0,"delta":{"text":""}}`, stop, `{"contentBlockIndex":0}`, "future",
				"{}", ends, endTurn, meta, counts,
			),
			lines(append(textHi, "finish stop"+counted)...),
		},
		{
			"thinking with its signature, and redacted",
			events(
				tb, piece, `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}`, piece,
				`{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s=="}}}`, stop, `{"contentBlockIndex":0}`,
				piece, `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"eno="}}}`, piece,
				`{"contentBlockIndex":2,"delta":{"text":"hi"}}`, ends, endTurn,
			),
			lines(
				"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`,
				`reasoning-end reasoning-0 bedrock={"signature":"s=="}`, "text-start text-0", `text-delta text-0 "hi"`,
				"reasoning-start reasoning-1", `reasoning-end reasoning-1 bedrock={"redactedData":"eno="}`, "text-end text-0",
				"finish stop"+nothing,
			),
		},
		{
			"a call",
			events(
				tb, start, `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}`, piece,
				`{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"a\":1}"}}}`, stop, `{"contentBlockIndex":1}`, ends, endTurn,
				meta, counts,
			),
			lines(
				"opened req-1", "input-start t1 f", `input-delta t1 "{\"a\":1}"`, "input-end t1", `call t1 f {"a":1}`,
				"finish tool-calls"+counted,
			),
		},
		{
			"a structured answer is text",
			events(
				tb, start, `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"structured_answer"}}}`, piece,
				`{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, ends, `{"stopReason":"tool_use"}`,
			),
			lines("opened req-1", "text-start text-0", `text-delta text-0 "{}"`, "text-end text-0", "finish stop"+nothing),
		},
		{
			"cached input beside the rest",
			events(
				tb, piece, says, ends, endTurn, meta,
				`{"usage":{"inputTokens":5,"outputTokens":7,"cacheReadInputTokens":100,"cacheWriteInputTokens":20,`+
					`"totalTokens":132}}`,
			),
			lines(append(textHi, "finish stop in=125 out=7 reasoning=0 read=100 write=20 total=132")...),
		},
		{
			"cached input within the rest",
			events(
				tb, piece, says, ends, endTurn, meta,
				`{"usage":{"inputTokens":125,"outputTokens":7,"cacheReadInputTokens":100,"cacheWriteInputTokens":20,`+
					`"totalTokens":132}}`,
			),
			lines(append(textHi, "finish stop in=125 out=7 reasoning=0 read=100 write=20 total=132")...),
		},
		{
			"what has another type than it should is as if it were not there",
			events(
				tb, start, `{"contentBlockIndex":"0","start":5}`, start, `{"contentBlockIndex":0,"start":{"toolUse":"x"}}`, piece,
				`{"contentBlockIndex":0,"delta":7}`, piece,
				`{"contentBlockIndex":0,"delta":{"reasoningContent":[],"toolUse":5,"text":"hi"}}`, ends, endTurn, meta,
				`{"usage":5,"metrics":7}`,
			),
			lines(append(textHi, "finish stop"+nothing)...),
		},
		{
			"a guardrail", events(tb, piece, says, ends, `{"stopReason":"guardrail_intervened"}`),
			lines(append(textHi, "finish content-filter"+nothing)...),
		},
		{
			"a broken model", events(tb, piece, says, ends, `{"stopReason":"malformed_tool_use"}`),
			lines(append(textHi, "error the provider could not complete the answer (overloaded)")...),
		},
		{
			"throttled", frame(tb, "exception", "throttlingException", `{"message":"Too many tokens, please wait"}`),
			"error Too many tokens, please wait (rate-limit)\n",
		},
		{
			"overloaded in the middle",
			events(tb, piece, says) + frame(tb, "exception", "modelStreamErrorException", `{"message":"The model broke"}`),
			begun + "error The model broke (overloaded)\n",
		},
		{
			"too long", frame(tb, "exception", "validationException", `{"message":"Input is too long for requested model."}`),
			"error Input is too long for requested model. (context-overflow)\n",
		},
		{"a bad request", frame(tb, "exception", "validationException", `{"message":"no"}`), "error no (invalid-request)\n"},
		{"an error of the connection", frame(tb, "error", "InternalFailure", "lost"), "error lost (overloaded)\n"},
		{
			"an exception after the end",
			events(tb, piece, says, ends, endTurn) + frame(tb, "exception", "internalServerException", `{}`),
			lines(append(textHi, "finish stop"+nothing)...),
		},
		{"no stop reason", events(tb, piece, says), begun + "error the answer ended without a finish marker (incomplete)\n"},
		{"nothing", "", "error the provider accepted the request but sent no answer (empty)\n"},
		{
			"a web page", "<html>",
			"error the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or " +
				"login page (malformed)\n",
		},
		{
			"a document", `{"message":"Input is too long for requested model."}`,
			"error Input is too long for requested model. (context-overflow)\n",
		},
		{
			"lengths that contradict each other", "\x00\x00\x00\x10\xff\xff\xff\xff\x00\x00\x00\x00",
			"error the provider sent a frame whose lengths contradict each other (malformed)\n",
		},
		{
			"a flood", "\x00\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00",
			"error the provider sent a frame of more than 8 MiB, the most that cairn reads; ask for less at once (malformed)\n",
		},
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range streams(t) {
		t.Run(tt.name, func(t *testing.T) {
			got := llmtest.Print(decode(strings.NewReader(tt.body)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, n := range []int{1, 5} {
				if again := llmtest.Print(decode(&llmtest.SlowReader{Text: tt.body, Step: n})); again != got {
					t.Errorf("split at every %d bytes: %s", n, cmp.Diff(got, again))
				}
			}
			llmtest.CheckStream(t, decode, tt.body)
		})
	}
}

// TestDamage turns a bit of every byte of a good stream: none is believed.
func TestDamage(t *testing.T) {
	body := []byte(events(t, piece, says, ends, endTurn))
	for i := range body {
		damaged := bytes.Clone(body)
		damaged[i] ^= 1 << (i % 8)
		got := llmtest.Print(decode(bytes.NewReader(damaged)))
		if !strings.Contains(got, "error ") {
			t.Fatalf("a bit of byte %d turned, and it was read:\n%s", i, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, x := range llmtest.LoadRecordings(f) {
		f.Add(x.Response, 5)
	}
	for _, tt := range streams(f) {
		f.Add(tt.body, 3)
	}
	f.Fuzz(func(t *testing.T, body string, step int) { llmtest.CheckSplit(t, decode, body, step) })
}

// FuzzEvents lets the payloads vary and keeps the checksums good.
func FuzzEvents(f *testing.F) {
	f.Add("contentBlockDelta", says, "messageStop", endTurn)
	f.Add(
		"contentBlockStart", `{"start":{"toolUse":{"toolUseId":"a","name":"b"}}}`, "messageStop", `{"stopReason":"tool_use"}`,
	)
	f.Add("contentBlockDelta", `{"delta":{"reasoningContent":{"text":"\ud83d"}}}`, "metadata", counts)
	f.Fuzz(func(t *testing.T, name1, payload1, name2, payload2 string) {
		for _, name := range []string{name1, name2} {
			if len(name) > 1000 {
				t.Skip("headers are short")
			}
		}
		llmtest.CheckStream(t, decode, events(t, name1, payload1, name2, payload2, ends, endTurn))
	})
}
