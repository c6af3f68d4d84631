package bedrock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/llm/wire"
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

func thought(text, meta string) llm.Part {
	return llm.Reasoning{Text: text, Metadata: llm.Metadata{"bedrock": jsontext.Value(meta)}}
}

var (
	png = llm.Media{MediaType: "image/png", Data: []byte{1, 2, 3}, Name: "a.png"}
	pdf = llm.Media{MediaType: "application/pdf", Data: []byte{1, 2, 3}, Name: "my_a.pdf"}
)

const (
	wirePNG  = `{"image":{"format":"png","source":{"bytes":"AQID"}}}`
	wirePDF  = `{"document":{"format":"pdf","name":"my a pdf","source":{"bytes":"AQID"}}}`
	wirePDF2 = `{"document":{"format":"pdf","name":"my a pdf (2)","source":{"bytes":"AQID"}}}`
	use1     = `{"toolUse":{"toolUseId":"1","name":"f","input":{"x":1}}}`
	point    = `{"cachePoint":{"type":"default"}}`
)

func says1(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }

func text1(s string) string { return `{"text":"` + s + `"}` }

func result1(id, content string) string {
	return `{"toolResult":{"toolUseId":"` + id + `","content":[` + content + `],"status":"success"}}`
}

func TestEncodeMessages(t *testing.T) {
	claude, llama := bedrock.NewDialect("anthropic.claude-sonnet-4-5-20250929-v1:0", true), bedrock.Dialect{}
	tests := []struct {
		name string
		d    bedrock.Dialect
		msgs []llm.Message
		want string
	}{
		{
			"one side in a row is one message", claude,
			[]llm.Message{user(textOf("a"), textOf(" ")), user(png)},
			says1("user", text1("a")+","+wirePNG+","+text1("(attached)")),
		},
		{"nothing to say", claude, []llm.Message{replies(textOf(""))}, says1("user", text1("(empty message)"))},
		{
			"the user begins and ends", claude,
			[]llm.Message{replies(textOf("a"))},
			says1("user", text1("(go on)")) + "," + says1("assistant", text1("a")) + "," + says1("user", text1("(go on)")),
		},
		{
			"documents have names of their own, and a text", claude,
			[]llm.Message{user(pdf, pdf)},
			says1("user", wirePDF+","+wirePDF2+","+text1("(attached)")),
		},
		{
			"other media become notes", claude,
			[]llm.Message{
				user(llm.Media{MediaType: "audio/wav", Data: []byte("x")}, llm.Media{MediaType: "image/png", URL: "https://h"}),
			},
			says1(
				"user",
				text1(
					`[attachment \"unnamed\" (audio/wav) was left out: this model's interface takes images, PDF, `+
						`text and office documents only]`,
				)+","+
					text1(`[attachment \"unnamed\" (image/png) was left out: this model's interface takes bytes, and no addresses]`),
			),
		},
		{
			"calls and results; documents follow", claude,
			[]llm.Message{
				user(textOf("a")), replies(call("1"), textOf("b"), call("2")), result("1", textOf("x"), png, pdf), result("2"),
			},
			says1("user", text1("a")) + "," +
				says1("assistant", text1("b")+","+use1+`,{"toolUse":{"toolUseId":"2","name":"f","input":{"x":1}}}`) + "," +
				says1(
					"user",
					result1("1", text1("x")+","+wirePNG)+","+result1("2", text1("(no output)"))+","+
						text1("Attachments of the tool results above:")+","+wirePDF,
				),
		},
		{
			"images follow where the model does not take them in results", llama,
			[]llm.Message{user(textOf("a")), replies(call("1")), result("1", png)},
			says1("user", text1("a")) + "," + says1("assistant", use1) + "," +
				says1(
					"user",
					strings.Replace(result1("1", text1("The attachments follow.")), `,"status":"success"`, "", 1)+","+
						text1("Attachments of the tool results above:")+","+wirePNG,
				),
		},
		{
			"a call that failed", claude,
			[]llm.Message{
				user(textOf("a")), replies(call("1")),
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "1", IsError: true, Content: []llm.Part{textOf("no")}}}},
			},
			says1("user", text1("a")) + "," + says1("assistant", use1) + "," +
				says1("user", `{"toolResult":{"toolUseId":"1","content":[{"text":"no"}],"status":"error"}}`),
		},
		{
			"thoughts go back as they came, or not at all", claude,
			[]llm.Message{
				user(textOf("a")),
				replies(
					thought("hm", `{"signature":"s"}`), thought("", `{"redactedData":"eno="}`), thought("unsigned", `{}`), textOf("b"),
				),
				user(textOf("c")),
			},
			says1("user", text1("a")) + "," +
				says1(
					"assistant",
					`{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},`+
						`{"reasoningContent":{"redactedContent":"eno="}},`+text1("b"),
				) + "," + says1("user", text1("c")),
		},
		{
			"an instruction waits for results", claude,
			[]llm.Message{
				user(textOf("a")), replies(call("1"), call("2")), result("1", textOf("x")), system("d"), result("2", textOf("y")),
			},
			says1("user", text1("a")) + "," +
				says1("assistant", use1+`,{"toolUse":{"toolUseId":"2","name":"f","input":{"x":1}}}`) + "," +
				says1(
					"user", result1("1", text1("x"))+","+result1("2", text1("y"))+","+text1(`<system-update>\nd\n</system-update>`),
				),
		},
		{
			"hosted tools become notes", claude,
			[]llm.Message{
				user(textOf("a")),
				replies(
					llm.ToolCall{ID: "h", Name: "web_search", Input: jsontext.Value(`{}`), Hosted: true},
					llm.ToolResult{ID: "h", Name: "web_search", Hosted: true, Raw: jsontext.Value(`[1]`)},
				),
				user(textOf("b")),
			},
			says1("user", text1("a")) + "," +
				says1("assistant", text1("[web_search was run by the provider with {}]")+","+text1("[web_search returned: [1]]")) +
				"," + says1("user", text1("b")),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.d.Encode(&llm.Request{Messages: tt.msgs})
			if err != nil {
				t.Fatal(err)
			}
			ours := llmtest.DecodeTree(t, string(got)).(map[string]any)["messages"]
			if diff := cmp.Diff(llmtest.DecodeTree(t, "["+tt.want+"]"), ours); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func option(name, v string) map[string]jsontext.Value {
	return map[string]jsontext.Value{name: jsontext.Value(v)}
}

// A message has only so many images and documents, and none that is too large.
func TestEncodeLimits(t *testing.T) {
	image, document := llm.Media{
		MediaType: "image/png", Data: []byte("x"),
	}, llm.Media{MediaType: "text/csv", Data: []byte("x")}
	large := llm.Media{MediaType: "image/png", Data: make([]byte, 3_750_001)}
	var many []llm.Part
	for range 23 {
		many = append(many, image)
	}
	many = append(many, document, document, document, document, document, document, large)
	req := llm.Request{Model: "m", Messages: []llm.Message{user(many...), replies(textOf("ok")), user(image, document)}}
	got, err := bedrock.NewDialect("anthropic.claude-sonnet-4-5", false).Encode(&req)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{
		`"image":{`: 21, `"document":{`: 6, "an image was left out": 3, "was left out: this model's interface takes 5": 1,
		"3.8 MB large": 1,
	} {
		if n := strings.Count(string(got), what); n != want {
			t.Errorf("%s: %d, want %d", what, n, want)
		}
	}
}

func TestEncodeFields(t *testing.T) {
	tools := []llm.ToolDefinition{
		{Name: "f", Description: "d", Schema: jsontext.Value(`{"type":"object"}`)},
		{Name: "web", Hosted: jsontext.Value(`{}`)},
	}
	const spec = `{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object"}}}}`
	const answer = `{"toolSpec":{"name":"structured_answer","description":"Give the answer. Call this once, ` +
		`at the end, instead of writing text.","inputSchema":{"json":{"type":"object"}}}}`
	g := llm.Generation{MaxTokens: 9000, Temperature: new(0.5), TopP: new(0.5), TopK: new(4), Stop: []string{"x"}}
	sonnet, opus := bedrock.NewDialect(
		"anthropic.claude-sonnet-4-5-20250929-v1:0", true,
	), bedrock.NewDialect("us.anthropic.claude-opus-4-7", true)
	nova := bedrock.NewDialect("amazon.nova-pro-v1:0", true)
	const maybe = `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`
	tests := []struct {
		name string
		d    bedrock.Dialect
		req  llm.Request
		want string
	}{
		{
			"system, marked", sonnet,
			llm.Request{System: []string{"a", "b"}, Breakpoints: llm.CacheBreakpoints{System: 1}},
			`"system":[{"text":"a"},` + point + `,{"text":"b"}]`,
		},
		{
			"a model without a cache", bedrock.NewDialect("meta.llama3", false),
			llm.Request{System: []string{"a"}, Breakpoints: llm.CacheBreakpoints{System: 1, Messages: []int{0}}},
			`"system":[{"text":"a"}]`,
		},
		{
			"generation", sonnet,
			llm.Request{Generate: g},
			`"inferenceConfig":{"maxTokens":9000,"temperature":0.5,"topP":0.5,"stopSequences":["x"]},` +
				`"additionalModelRequestFields":{"top_k":4}`,
		},
		{
			"a model that takes no sampling", opus,
			llm.Request{Generate: g},
			`"inferenceConfig":{"maxTokens":9000,"stopSequences":["x"]}`,
		},
		{
			"thinking", sonnet,
			llm.Request{Generate: g, Options: option("reasoningEffort", `"low"`)},
			`"inferenceConfig":{"maxTokens":9000,"stopSequences":["x"]},` +
				`"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":4000}}`,
		},
		{
			"adaptive", opus,
			llm.Request{Options: option("reasoningEffort", `"xhigh"`)},
			`"additionalModelRequestFields":{"thinking":{"type":"adaptive","display":"summarized"},` +
				`"output_config":{"effort":"xhigh"}}`,
		},
		{
			"a budget as the SDK spells it", sonnet,
			llm.Request{
				Generate: llm.Generation{MaxTokens: 9000},
				Options:  option("reasoningConfig", `{"type":"enabled","budgetTokens":2000}`),
			},
			`"inferenceConfig":{"maxTokens":9000},"additionalModelRequestFields":{"thinking":{"type":"enabled",` +
				`"budget_tokens":2000}}`,
		},
		{
			"adaptive as the SDK spells it", opus,
			llm.Request{Options: option("reasoningConfig", `{"type":"adaptive","maxReasoningEffort":"max"}`)},
			`"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`,
		},
		{
			"Nova", nova,
			llm.Request{Options: option("reasoningEffort", `"low"`)},
			`"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}}`,
		},
		{
			"others",
			bedrock.Dialect{},
			llm.Request{Options: option("reasoningEffort", `"low"`)},
			`"additionalModelRequestFields":{"reasoning_effort":"low"}`,
		},
		{
			"fields of the user's", sonnet,
			llm.Request{Options: option("additionalModelRequestFields", `{"a":1}`)},
			`"additionalModelRequestFields":{"a":1}`,
		},
		{"tools", sonnet, llm.Request{Tools: tools}, `"toolConfig":{"tools":[` + spec + `]}`},
		{"no tools", sonnet, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}}, ``},
		{
			"required", sonnet,
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"toolConfig":{"tools":[` + spec + `],"toolChoice":{"any":{}}}`,
		},
		{
			"this tool", sonnet,
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			`"toolConfig":{"tools":[` + spec + `],"toolChoice":{"tool":{"name":"f"}}}`,
		},
		{
			"format", sonnet,
			llm.Request{OutputSchema: jsontext.Value(`{"type":"object"}`)},
			`"toolConfig":{"tools":[` + answer + `],"toolChoice":{"tool":{"name":"structured_answer"}}}`,
		},
		{
			"what may be null in a format", sonnet,
			llm.Request{
				Tools: []llm.ToolDefinition{{Name: "f", Description: "d", StructuredOutput: true, Schema: jsontext.Value(maybe)}},
			},
			`"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":` + maybe + `}}}]}`,
		},
		{
			"format beside tools", sonnet,
			llm.Request{Tools: tools, OutputSchema: jsontext.Value(`{"type":"object"}`)},
			`"toolConfig":{"tools":[` + spec + `,` + answer + `],"toolChoice":{"any":{}}}`,
		},
		{
			"guardrail and body fields", sonnet,
			llm.Request{Options: option("guardrailConfig", `{"g":1}`), Body: option("requestMetadata", `{"a":"b"}`)},
			`"guardrailConfig":{"g":1},"requestMetadata":{"a":"b"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model, tt.req.Messages = "m", []llm.Message{user(textOf("hi"))}
			got, err := tt.d.Encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"modelId":"m","messages":[` + says1("user", text1("hi")) + `]`
			if tt.want != "" {
				want += "," + tt.want
			}
			if diff := cmp.Diff(llmtest.DecodeTree(t, want+"}"), llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestMarks puts cache points at the ends of messages, never behind a thought, and no more than four.
func TestMarks(t *testing.T) {
	req := &llm.Request{
		System: []string{"a", "b"}, Breakpoints: llm.CacheBreakpoints{System: 2, Messages: []int{0, 1, 2}},
		Messages: []llm.Message{
			user(textOf("a")), replies(textOf("b"), thought("c", `{"signature":"s"}`)), user(textOf("d")),
		},
	}
	got, err := bedrock.NewDialect("anthropic.claude-sonnet-4-5", false).Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	want := `"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"b"},` + point +
		`,{"reasoningContent":{"reasoningText":{"text":"c","signature":"s"}}}]},{"role":"user","content":[{"text":"d"},` +
		point + `]}]`
	if strings.Count(string(got), "cachePoint") != 4 || !strings.Contains(string(got), want) {
		t.Errorf("%s", got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	d := bedrock.Dialect{Claude: true, Thinking: wire.ThinkingBudget}
	tests := []struct {
		name string
		req  llm.Request
		want string
	}{
		{"protocol key", llm.Request{Body: option("inferenceConfig", "{}")}, `"inferenceConfig"`},
		{"effort", llm.Request{Options: option("reasoningEffort", "3")}, "reasoningEffort"},
		{"unknown effort", llm.Request{Options: option("reasoningEffort", `"huge"`)}, "huge"},
		{"thinking", llm.Request{Options: option("reasoningConfig", "true")}, "reasoningConfig"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := d.Encode(&tt.req)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Class != llm.InvalidRequest || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPath(t *testing.T) {
	const arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.x"
	if got := (bedrock.Dialect{}).RequestPath(arn); got !=
		"model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse-stream" {
		t.Error(got)
	}
}
