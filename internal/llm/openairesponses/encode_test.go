package openairesponses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

// What conversations are made of.
var (
	call    = llmtest.ToolCall
	replies = llmtest.AssistantMessage
	result  = llmtest.ToolMessage
	system  = llmtest.SystemMessage
	textOf  = llmtest.TextPart
	user    = llmtest.UserMessage
)

// ours returns the metadata that this protocol stores with a part.
func ours(members string) llm.Metadata {
	return llm.Metadata{"openai": jsontext.Value("{" + members + "}")}
}

var (
	png = llm.Media{MediaType: "image/png", Data: []byte{1, 2, 3}, Name: "a.png"}
	pdf = llm.Media{MediaType: "application/pdf", Data: []byte{1, 2, 3}, Name: "a.pdf"}
)

const (
	pngPart = `{"type":"input_image","image_url":"data:image/png;base64,AQID"}`
	pdfPart = `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AQID"}`
	callA   = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	callB   = `{"type":"function_call","call_id":"b","name":"f","arguments":"{\"x\":1}"}`
	wrapped = `{"type":"input_text","text":"<system-update>\nb < c\n</system-update>"}`
)

func says1(text string) string {
	return `{"role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
}

func asks(parts string) string { return `{"role":"user","content":[` + parts + `]}` }

func input(text string) string { return `{"type":"input_text","text":"` + text + `"}` }

func TestEncodeInput(t *testing.T) {
	thought := func(text, more string) llm.Reasoning {
		return llm.Reasoning{Text: text, Metadata: ours(`"itemId":"rs_1"` + more)}
	}
	const encrypted = `,"reasoningEncryptedContent":"zz"`
	search := llm.ToolCall{
		ID: "ws_1", Name: "web_search", Input: jsontext.Value(`{"q":1}`), Hosted: true, Metadata: ours(`"itemId":"ws_1"`),
	}
	found := llm.ToolResult{
		ID: "ws_1", Name: "web_search", Hosted: true, Raw: jsontext.Value(`{"id":"ws_1"}`), Metadata: ours(`"itemId":"ws_1"`),
	}
	strange, strangeResult := search, found
	strange.Metadata, strangeResult.Metadata = nil, nil
	stored := map[string]jsontext.Value{"store": jsontext.Value("true")}
	tests := []struct {
		name    string
		options map[string]jsontext.Value
		msgs    []llm.Message
		want    []string
	}{
		{"nothing to say", nil, []llm.Message{user(), replies(), user(textOf(""))}, nil},
		{
			"media", nil, []llm.Message{user(textOf("a"), png, pdf)}, []string{asks(input("a") + "," + pngPart + "," + pdfPart)},
		},
		{
			"media by URL", nil,
			[]llm.Message{
				user(
					llm.Media{MediaType: "image/JPG; x=y", URL: "https://h/a"},
					llm.Media{MediaType: "application/pdf", URL: "https://h/b"},
				),
			},
			[]string{asks(`{"type":"input_image","image_url":"https://h/a"},{"type":"input_file","file_url":"https://h/b"}`)},
		},
		{
			"other media become notes", nil,
			[]llm.Message{user(llm.Media{MediaType: "audio/wav", Data: []byte("x"), Name: "a.wav"})},
			[]string{
				asks(
					input(
						`[attachment \"a.wav\" (audio/wav) was left out: this model's interface takes PNG, JPEG, ` +
							`GIF and WebP images and PDF documents only]`,
					),
				),
			},
		},
		{
			"calls, and results of text, of media, of nothing", nil,
			[]llm.Message{
				replies(textOf("t"), call("a"), call("b")), result("a", textOf("x"), textOf("y")), result("b", textOf("z"), png),
				replies(call("a")), result("a"),
			},
			[]string{
				says1("t"), callA, callB, `{"type":"function_call_output","call_id":"a","output":"x\ny"}`,
				`{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"z"},` + pngPart + `]}`,
				callA, `{"type":"function_call_output","call_id":"a","output":""}`,
			},
		},
		{
			"ids that are too long", nil,
			[]llm.Message{replies(call(strings.Repeat("i", 65))), result(strings.Repeat("i", 65))},
			[]string{
				`{"type":"function_call","call_id":"call_lpjq6k5nvmeoi","name":"f","arguments":"{\"x\":1}"}`,
				`{"type":"function_call_output","call_id":"call_lpjq6k5nvmeoi","output":""}`,
			},
		},
		{
			"an update joins the user message before it", nil,
			[]llm.Message{user(textOf("a")), system("b < c"), replies(textOf("x"))},
			[]string{asks(input("a") + "," + wrapped), says1("x")},
		},
		{
			"an update after an answer stands alone", nil,
			[]llm.Message{replies(textOf("x")), system("b < c")},
			[]string{says1("x"), asks(wrapped)},
		},
		{
			"an update never stands between a call and its result", nil,
			[]llm.Message{replies(call("a"), call("b")), result("a"), system("b < c"), result("b"), user(textOf("go"))},
			[]string{
				callA, callB, `{"type":"function_call_output","call_id":"a","output":""}`,
				`{"type":"function_call_output","call_id":"b","output":""}`, asks(wrapped), asks(input("go")),
			},
		},
		{
			"reasoning goes back encrypted, its parts together, before what it led to", nil,
			[]llm.Message{replies(thought("one", ""), thought("two", encrypted), textOf("t"), call("a")), result("a")},
			[]string{
				`{"type":"reasoning","encrypted_content":"zz","summary":[{"type":"summary_text","text":"one"},` +
					`{"type":"summary_text","text":"two"}]}`,
				says1("t"), callA, `{"type":"function_call_output","call_id":"a","output":""}`,
			},
		},
		{
			"reasoning that is not encrypted, not ours, or led to nothing is left out", nil,
			[]llm.Message{
				replies(
					thought("one", ""), llm.Reasoning{Text: "x"}, textOf("t"),
					llm.Reasoning{Metadata: ours(`"itemId":"rs_2","reasoningEncryptedContent":"zz"`)},
				),
			},
			[]string{says1("t")},
		},
		{
			"a message keeps its phase", nil,
			[]llm.Message{replies(llm.Text{Text: "t", Metadata: ours(`"itemId":"m","phase":"commentary"`)})},
			[]string{`{"role":"assistant","content":[{"type":"output_text","text":"t"}],"phase":"commentary"}`},
		},
		{
			"what the vendor stored is referred to, once", stored,
			[]llm.Message{
				replies(
					thought("one", ""), thought("two", encrypted), llm.Text{Text: "t", Metadata: ours(`"itemId":"m"`)}, search, found,
					llm.ToolCall{ID: "a", Name: "f", Metadata: ours(`"itemId":"fc"`)},
				),
				system("b < c"), result("a"),
			},
			[]string{
				`{"type":"item_reference","id":"rs_1"}`, `{"type":"item_reference","id":"m"}`,
				`{"type":"item_reference","id":"ws_1"}`, `{"type":"item_reference","id":"fc"}`,
				`{"type":"function_call_output","call_id":"a","output":""}`, asks(wrapped),
			},
		},
		{
			"pictures go back to the model that made them", nil,
			[]llm.Message{
				replies(
					llm.ToolCall{
						ID: "ig_1", Name: "image_generation", Input: jsontext.Value(`{}`), Hosted: true,
						Metadata: ours(`"itemId":"ig_1"`),
					},
					llm.ToolResult{
						ID: "ig_1", Name: "image_generation", Hosted: true, Raw: jsontext.Value(`{"id":"ig_1"}`),
						Metadata: ours(`"itemId":"ig_1"`), Content: []llm.Part{llm.Media{MediaType: "image/png", Data: []byte("pixels")}},
					}, textOf("t"),
				),
			},
			[]string{`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"cGl4ZWxz"}`, says1("t")},
		},
		{
			"hosted calls that are not stored are left out", nil,
			[]llm.Message{replies(search, found, textOf("t"))},
			[]string{says1("t")},
		},
		{
			"hosted calls of other providers become notes", nil,
			[]llm.Message{replies(strange, strangeResult)},
			[]string{
				says1(`[web_search was run by the provider with {\"q\":1}]`), says1(`[web_search returned: {\"id\":\"ws_1\"}]`),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := openairesponses.Dialect{}.Encode(&llm.Request{Model: "m", Messages: tt.msgs, Options: tt.options})
			if err != nil {
				t.Fatal(err)
			}
			tree, _ := llmtest.DecodeTree(t, string(got)).(map[string]any)
			want := llmtest.DecodeTree(t, "["+strings.Join(tt.want, ",")+"]")
			if diff := cmp.Diff(want, tree["input"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeFields(t *testing.T) {
	half, seed, k := 0.5, int64(7), 3
	options := func(members ...string) map[string]jsontext.Value {
		out := map[string]jsontext.Value{}
		for _, m := range members {
			name, v, _ := strings.Cut(m, "=")
			out[name] = jsontext.Value(v)
		}
		return out
	}
	reasons := openairesponses.Dialect{Reasoning: true}
	tests := []struct {
		name string
		d    openairesponses.Dialect
		req  llm.Request
		want string // without model, input, stream
	}{
		{"bare", openairesponses.Dialect{}, llm.Request{}, `"store":false`},
		{
			"controls",
			openairesponses.Dialect{},
			llm.Request{
				Generate: llm.Generation{MaxTokens: 9, Temperature: &half, TopP: &half, TopK: &k, Seed: &seed, Stop: []string{"x"}},
			},
			`"store":false,"max_output_tokens":9,"temperature":0.5,"top_p":0.5`,
		},
		{
			"models that reason", reasons,
			llm.Request{Generate: llm.Generation{Temperature: &half, TopP: &half}},
			`"store":false,"include":["reasoning.encrypted_content"]`,
		},
		{
			"what the vendor's tools found is asked for",
			openairesponses.Dialect{},
			llm.Request{Options: options(`include=["x"]`), Tools: []llm.ToolDefinition{
				{Name: "code", Hosted: jsontext.Value(`{"type":"code_interpreter"}`)},
				{Name: "web", Hosted: jsontext.Value(`{"type":"web_search"}`)},
			}},
			`"store":false,"include":["x","code_interpreter_call.outputs","web_search_call.action.sources"],` +
				`"tools":[{"type":"code_interpreter"},{"type":"web_search"}]`,
		},
		{
			"options",
			openairesponses.Dialect{},
			llm.Request{
				CacheKey: "k",
				Options: options(
					`reasoningEffort="low"`, `reasoningSummary="auto"`, `textVerbosity="low"`, `serviceTier="flex"`, `include=["x"]`,
					`thinkingConfig={}`,
				),
			},
			`"store":false,"prompt_cache_key":"k","reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low"},` +
				`"service_tier":"flex","include":["x","reasoning.encrypted_content"]`,
		},
		{"stored", reasons, llm.Request{Options: options(`store=true`)}, `"store":true`},
		{
			"a vendor without cache keys",
			openairesponses.Dialect{NoCacheKey: true},
			llm.Request{CacheKey: "k"},
			`"store":false`,
		},
		{
			"tools",
			openairesponses.Dialect{},
			llm.Request{
				Tools: []llm.ToolDefinition{
					{Name: "f", Description: "d", Schema: jsontext.Value(`{"anyOf":[{"properties":{"a":{"type":"string"}}}]}`)},
				},
				Choice: llm.ToolChoice{Mode: llm.ChooseRequired},
			},
			`"store":false,"tools":[{"type":"function","name":"f","description":"d","strict":false,` +
				`"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}}],` +
				`"tool_choice":"required"`,
		},
		{
			"a named tool",
			openairesponses.Dialect{},
			llm.Request{Tools: []llm.ToolDefinition{{Name: "f"}}, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			`"store":false,"tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object",` +
				`"properties":{}}}],"tool_choice":{"type":"function","name":"f"}`,
		},
		{
			"format",
			openairesponses.Dialect{},
			llm.Request{OutputSchema: jsontext.Value(`{"type":"object","properties":{"a":{}}}`)},
			`"store":false,"text":{"format":{"type":"json_schema","name":"answer","strict":false,"schema":{"type":"object",` +
				`"properties":{"a":{}}}}}`,
		},
		{
			"a format that can be followed strictly",
			openairesponses.Dialect{},
			llm.Request{
				OutputSchema: jsontext.Value(
					`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
				),
			},
			`"store":false,"text":{"format":{"type":"json_schema","name":"answer","strict":true,"schema":{"type":"object",` +
				`"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`,
		},
		{
			"compatibility fields",
			openairesponses.Dialect{},
			llm.Request{Body: options(`odd={"a":1}`)},
			`"store":false,"odd":{"a":1}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model = "m"
			got, err := tt.d.Encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"model":"m","input":[],"stream":true,` + tt.want + `}`
			if diff := cmp.Diff(llmtest.DecodeTree(t, want), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeSystem(t *testing.T) {
	got, err := openairesponses.Dialect{Reasoning: true}.Encode(&llm.Request{System: []string{"a", "b"}})
	if err != nil || !strings.Contains(string(got), `{"role":"system","content":"a\nb"}`) {
		t.Errorf("%v %s", err, got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, req := range map[string]llm.Request{
		"store":             {Options: map[string]jsontext.Value{"store": jsontext.Value(`"yes"`)}},
		"include":           {Options: map[string]jsontext.Value{"include": jsontext.Value(`"x"`)}},
		"reasoningEffort":   {Options: map[string]jsontext.Value{"reasoningEffort": jsontext.Value(`1`)}},
		"max_output_tokens": {Body: map[string]jsontext.Value{"max_output_tokens": jsontext.Value("1")}},
		"Input":             {Body: map[string]jsontext.Value{"Input": jsontext.Value("1")}},
	} {
		_, err := openairesponses.Dialect{}.Encode(&req)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Class != llm.InvalidRequest || !strings.Contains(e.Message, name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestPrefixIsStable: the input of each turn begins with the bytes of the one before.
func TestPrefixIsStable(t *testing.T) {
	req := &llm.Request{System: []string{"s"}}
	before := `"input":[`
	for i := range 50 {
		id := fmt.Sprintf("call_%d", i)
		req.Messages = append(req.Messages, user(textOf(fmt.Sprintf("turn %d", i)), png),
			replies(
				llm.Reasoning{Text: "hm", Metadata: ours(fmt.Sprintf(`"itemId":"rs_%d","reasoningEncryptedContent":"zz"`, i))},
				call(id),
			), result(id, textOf("ok")))
		body, err := openairesponses.Dialect{Reasoning: true}.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		_, items, _ := strings.Cut(string(body), `"input":[`)
		items, _, _ = strings.Cut(items, `],"stream"`)
		if !strings.HasPrefix(`"input":[`+items, before) {
			t.Fatalf("turn %d rewrites what was sent before", i)
		}
		before = `"input":[` + items
	}
}
