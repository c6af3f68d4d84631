package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
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
	return llm.Reasoning{Text: text, Metadata: llm.Metadata{"anthropic": jsontext.Value(meta)}}
}

var (
	png = llm.Media{MediaType: "image/png", Data: []byte{1, 2, 3}, Name: "a.png"}
	pdf = llm.Media{MediaType: "application/pdf", Data: []byte{1, 2, 3}, Name: "a.pdf"}
)

const (
	wirePNG = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}`
	wirePDF = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AQID"},"title":"a.pdf"}`
	use1    = `{"type":"tool_use","id":"1","name":"f","input":{"x":1}}`
)

func says1(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }

func text1(s string) string { return `{"type":"text","text":"` + s + `"}` }

func TestEncodeMessages(t *testing.T) {
	search := llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Input: jsontext.Value(`{"query":"x"}`), Hosted: true}
	found := llm.ToolResult{
		ID: "srvtoolu_1", Name: "web_search", Hosted: true,
		Raw: jsontext.Value(
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"e"}]}`,
		),
	}
	const searched = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`
	go1 := user(textOf("go"))
	tests := []struct {
		name string
		d    anthropic.Dialect
		msgs []llm.Message
		want string
	}{
		{
			"one side in a row is one message",
			anthropic.Dialect{},
			[]llm.Message{user(textOf("a"), textOf("b")), user(png)},
			says1("user", text1("a")+","+text1("b")+","+wirePNG),
		},
		{
			"nothing to say",
			anthropic.Dialect{},
			[]llm.Message{user(textOf(" ")), replies(textOf("")), replies()},
			says1("user", text1("(empty message)")),
		},
		{"no messages", anthropic.Dialect{}, nil, says1("user", text1("(empty message)"))},
		{
			"documents",
			anthropic.Dialect{},
			[]llm.Message{
				user(
					pdf, llm.Media{MediaType: "text/markdown", Data: []byte("# a"), Name: "a.md"},
					llm.Media{MediaType: "image/jpg", URL: "https://h/a"},
				),
			},
			says1(
				"user",
				wirePDF+
					`,{"type":"document","source":{"type":"text","media_type":"text/plain","data":"# a"},"title":"a.md"},`+
					`{"type":"image","source":{"type":"url","url":"https://h/a"}}`,
			),
		},
		{
			"other media become notes",
			anthropic.Dialect{},
			[]llm.Message{user(llm.Media{MediaType: "audio/wav", Data: []byte("x"), Name: "a.wav"})},
			says1(
				"user",
				text1(
					`[attachment \"a.wav\" (audio/wav) was left out: this model's interface takes PNG, JPEG, GIF and WebP images, `+
						`PDF and text only]`,
				),
			),
		},
		{
			"calls and results, with media",
			anthropic.Dialect{},
			[]llm.Message{
				user(textOf("a")), replies(textOf("b"), call("1"), call("2")), result("1", textOf("x"), png, pdf), result("2"), go1,
			},
			says1("user", text1("a")) + "," +
				says1("assistant", text1("b")+","+use1+`,{"type":"tool_use","id":"2","name":"f","input":{"x":1}}`) + "," +
				says1(
					"user",
					`{"type":"tool_result","tool_use_id":"1","content":[`+text1("x")+","+wirePNG+","+wirePDF+
						`]},{"type":"tool_result","tool_use_id":"2"},`+text1("go"),
				),
		},
		{
			"a failed call says something, in text",
			anthropic.Dialect{},
			[]llm.Message{
				replies(call("1"), call("2")),
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "1", IsError: true}}},
				{
					Role:  llm.RoleTool,
					Parts: []llm.Part{llm.ToolResult{ID: "2", IsError: true, Content: []llm.Part{textOf("no"), png}}},
				},
			},
			says1("assistant", use1+`,{"type":"tool_use","id":"2","name":"f","input":{"x":1}}`) + "," +
				says1(
					"user",
					`{"type":"tool_result","tool_use_id":"1","content":"The tool failed without saying why.","is_error":true},`+
						`{"type":"tool_result","tool_use_id":"2","is_error":true,"content":[`+text1("no")+","+
						text1(`[attachment \"a.png\" (image/png) was left out: the result of a call that failed is text]`)+`]}`,
				),
		},
		{
			"ids, names and inputs that the protocol refuses",
			anthropic.Dialect{},
			[]llm.Message{
				replies(llm.ToolCall{ID: "f:0", Name: "a b", Input: jsontext.Value("oops")}), result("f:0", textOf("x")),
			},
			says1("assistant", `{"type":"tool_use","id":"toolu_3vfuqgh7lok4w","name":"tool_4y7zsgieqm4je","input":{}}`) + "," +
				says1("user", `{"type":"tool_result","tool_use_id":"toolu_3vfuqgh7lok4w","content":"x"}`),
		},
		{
			"text after a call comes before it",
			anthropic.Dialect{},
			[]llm.Message{replies(call("1"), textOf("a")), result("1", textOf("x"))},
			says1("assistant", text1("a")+","+use1) + "," +
				says1("user", `{"type":"tool_result","tool_use_id":"1","content":"x"}`),
		},
		{
			"thoughts between calls stay",
			anthropic.Dialect{},
			[]llm.Message{replies(call("1"), thought("hm", `{"signature":"s"}`), textOf("a")), result("1", textOf("x"))},
			says1("assistant", use1+`,{"type":"thinking","thinking":"hm","signature":"s"},`+text1("a")) + "," +
				says1("user", `{"type":"tool_result","tool_use_id":"1","content":"x"}`),
		},
		{
			"thoughts go back as they came, or not at all",
			anthropic.Dialect{},
			[]llm.Message{
				replies(
					thought("", `{"signature":"s"}`), thought("gone", `{"redactedData":"zz"}`), thought("unsigned", `{}`), textOf("a"),
				),
				go1,
			},
			says1(
				"assistant",
				`{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"zz"},`+text1("a"),
			) + "," + says1("user", text1("go")),
		},
		{
			"an instruction is the user's, and waits for results",
			anthropic.Dialect{},
			[]llm.Message{
				user(textOf("a")), system("b < c"), replies(call("1"), call("2")), result("1", textOf("x")), system("d"),
				result("2", textOf("y")),
			},
			says1("user", text1("a")+","+text1(`<system-update>\nb < c\n</system-update>`)) + "," +
				says1("assistant", use1+`,{"type":"tool_use","id":"2","name":"f","input":{"x":1}}`) + "," +
				says1(
					"user",
					`{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"2","content":"y"},`+
						text1(`<system-update>\nd\n</system-update>`),
				),
		},
		{
			"an instruction in its own role",
			anthropic.Dialect{SystemMessages: true},
			[]llm.Message{user(textOf("a")), system("b"), replies(textOf("c")), system("d"), go1},
			says1("user", text1("a")) + "," + says1("system", text1("b")) + "," + says1("assistant", text1("c")) + "," +
				says1("user", text1(`<system-update>\nd\n</system-update>`)+","+text1("go")),
		},
		{
			"instructions in a row in their own role",
			anthropic.Dialect{SystemMessages: true},
			[]llm.Message{
				user(textOf("a")), system("b"), system("c"), replies(textOf("d")), user(textOf("e")), system("f"), system("g"), go1,
			},
			says1("user", text1("a")) + "," + says1("system", text1("b")+","+text1("c")) + "," + says1("assistant", text1("d")) +
				"," +
				says1(
					"user",
					text1("e")+","+text1(`<system-update>\nf\n</system-update>`)+","+text1(`<system-update>\ng\n</system-update>`)+","+
						text1("go"),
				),
		},
		{
			"what the provider's own code called goes back as such",
			anthropic.Dialect{},
			[]llm.Message{replies(
				llm.ToolCall{
					ID: "srvtoolu_1", Name: "web_search", Input: jsontext.Value(`{"query":"x"}`), Hosted: true,
					Metadata: llm.Metadata{"anthropic": jsontext.Value(`{"caller":{"tool_id":"srvtoolu_0"}}`)},
				},
				llm.ToolResult{
					ID: "srvtoolu_1", Hosted: true,
					Raw: jsontext.Value(
						`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","caller":{"tool_id":"srvtoolu_0"},"content":[]}`,
					),
				},
			), go1},
			says1(
				"assistant",
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"},`+
					`"caller":{"tool_id":"srvtoolu_0"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[],`+
					`"caller":{"tool_id":"srvtoolu_0"}}`,
			) + "," + says1("user", text1("go")),
		},
		{
			"hosted tools go back verbatim",
			anthropic.Dialect{},
			[]llm.Message{
				replies(
					search, found, llm.Text{Text: "a", Metadata: llm.Metadata{"anthropic": jsontext.Value(`{"citations":[{"u":1}]}`)}},
				),
				go1,
			},
			says1(
				"assistant",
				searched+
					`,{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"e"}]},`+
					`{"type":"text","text":"a","citations":[{"u":1}]}`,
			) + "," + says1("user", text1("go")),
		},
		{
			"a hosted call that paused the answer is its end",
			anthropic.Dialect{},
			[]llm.Message{user(textOf("a")), replies(search)},
			says1("user", text1("a")) + "," + says1("assistant", searched),
		},
		{"an answer that was paused and went on is whole again", anthropic.Dialect{}, []llm.Message{
			user(textOf("a")),
			replies(
				search, llm.ToolResult{ID: "srvtoolu_1", Hosted: true, IsError: true, Content: []llm.Part{textOf("none yet")}},
			),
			replies(
				llm.ToolCall{ID: "srvtoolu_1_1", Name: "web_search", Input: jsontext.Value("{}"), Hosted: true},
				llm.ToolResult{ID: "srvtoolu_1_1", Hosted: true, Raw: found.Raw}, textOf("b"),
			), go1,
		}, says1("user", text1("a")) + "," +
			says1(
				"assistant",
				searched+`,{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"e"}]},`+
					text1("b"),
			) + "," + says1("user", text1("go"))},
		{
			"a hosted call without a result becomes a note",
			anthropic.Dialect{},
			[]llm.Message{replies(search), go1},
			says1("assistant", text1(`[web_search was run by the provider with {\"query\":\"x\"}]`)) + "," +
				says1("user", text1("go")),
		},
		{
			"another provider's tools become notes",
			anthropic.Dialect{},
			[]llm.Message{
				replies(
					llm.ToolCall{ID: "ws_1", Name: "web_search", Input: jsontext.Value("{}"), Hosted: true},
					llm.ToolResult{ID: "ws_1", Name: "web_search", Hosted: true, Raw: jsontext.Value("[1]")},
				),
				go1,
			},
			says1("assistant", text1("[web_search was run by the provider with {}]")+","+text1("[web_search returned: [1]]")) +
				"," + says1("user", text1("go")),
		},
		{
			"an answer at the end is not the model's to go on with by itself",
			anthropic.Dialect{},
			[]llm.Message{user(textOf("a")), replies(textOf("b \n"))},
			says1("user", text1("a")) + "," + says1("assistant", text1("b")) + "," + says1("user", text1("(go on)")),
		},
		{
			"text that is not UTF-8",
			anthropic.Dialect{},
			[]llm.Message{user(textOf("a\xffb"))},
			says1("user", text1("a\uFFFDb")),
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

func options(pairs ...string) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = jsontext.Value(pairs[i+1])
	}
	return out
}

func TestEncodeFields(t *testing.T) {
	tools := []llm.ToolDefinition{{Name: "f", Description: "d", Schema: jsontext.Value(`{"type":"object"}`)}}
	const wireTools = `"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}]`
	const format = `{"type":"object","properties":{"a":{"type":"string","minLength":3}}}`
	const answer = `{"name":"structured_answer","description":"Give the answer. Call this once, at the end, ` +
		`instead of writing text.","input_schema":` + format + `}`
	g := llm.Generation{MaxTokens: 9000, Temperature: new(0.5), TopP: new(0.5), TopK: new(4), Stop: []string{"x"}}
	budget, adaptive, byEffort := anthropic.Dialect{
		Thinking: wire.ThinkingBudget,
	}, anthropic.NewDialect("claude-opus-4-7", true), anthropic.Dialect{Thinking: wire.ThinkingEffort}
	effort := func(s string) map[string]jsontext.Value { return options("reasoningEffort", `"`+s+`"`) }
	tests := []struct {
		name string
		d    anthropic.Dialect
		req  llm.Request
		want string
	}{
		{
			"system",
			anthropic.Dialect{},
			llm.Request{System: []string{"a", "b", "c"}, Breakpoints: llm.CacheBreakpoints{System: 2}},
			`"max_tokens":4096,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},` +
				`{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c"}]`,
		},
		{
			"generation",
			anthropic.Dialect{},
			llm.Request{Generate: g},
			`"max_tokens":9000,"temperature":0.5,"top_p":0.5,"top_k":4,"stop_sequences":["x"]`,
		},
		{"a model that takes no sampling", adaptive, llm.Request{Generate: g}, `"max_tokens":9000,"stop_sequences":["x"]`},
		{
			"thinking leaves no sampling", budget,
			llm.Request{Generate: g, Options: effort("low")},
			`"max_tokens":9000,"stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":4000}`,
		},
		{
			"half of the output at most", budget,
			llm.Request{Generate: g, Options: effort("high")},
			`"max_tokens":9000,"stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":4499}`,
		},
		{
			"all that the output leaves", budget,
			llm.Request{Generate: g, Options: effort("max")},
			`"max_tokens":9000,"stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":8999}`,
		},
		{
			"too little to think", budget,
			llm.Request{Generate: llm.Generation{MaxTokens: 1000}, Options: effort("high")},
			`"max_tokens":1000`,
		},
		{"no thinking", budget, llm.Request{Options: effort("none")}, `"max_tokens":4096`},
		{
			"adaptive", adaptive,
			llm.Request{Options: effort("xhigh")},
			`"max_tokens":4096,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}`,
		},
		{
			"adaptive, without xhigh", anthropic.NewDialect("claude-sonnet-4-6", true),
			llm.Request{Options: effort("xhigh")},
			`"max_tokens":4096,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`,
		},
		{"by effort", byEffort, llm.Request{Options: effort("max")}, `"max_tokens":4096,"output_config":{"effort":"high"}`},
		{"a model that does not reason", anthropic.Dialect{}, llm.Request{Options: effort("max")}, `"max_tokens":4096`},
		{
			"thinking as the SDK spells it", budget,
			llm.Request{Generate: g, Options: options("thinking", `{"type":"enabled","budgetTokens":2000}`)},
			`"max_tokens":9000,"stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":2000}`,
		},
		{
			"thinking disabled", adaptive,
			llm.Request{Options: options("thinking", `{"type":"disabled"}`)},
			`"max_tokens":4096,"thinking":{"type":"disabled"}`,
		},
		{
			"effort as the SDK spells it", adaptive,
			llm.Request{Options: options("effort", `"low"`)},
			`"max_tokens":4096,"output_config":{"effort":"low"}`,
		},
		{"tools", anthropic.Dialect{}, llm.Request{Tools: tools}, `"max_tokens":4096,` + wireTools},
		{
			"no tools",
			anthropic.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
			`"max_tokens":4096,"tool_choice":{"type":"none"},` + wireTools,
		},
		{
			"auto",
			anthropic.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
			`"max_tokens":4096,"tool_choice":{"type":"auto"},` + wireTools,
		},
		{
			"required",
			anthropic.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"max_tokens":4096,"tool_choice":{"type":"any"},` + wireTools,
		},
		{
			"this tool",
			anthropic.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			`"max_tokens":4096,"tool_choice":{"type":"tool","name":"f"},` + wireTools,
		},
		{
			"one that thinks cannot be forced", budget,
			llm.Request{Generate: g, Tools: tools, Options: effort("low"), Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"max_tokens":9000,"stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":4000},` + wireTools,
		},
		{
			"one call at a time",
			anthropic.Dialect{},
			llm.Request{Tools: tools, Options: options("parallelToolCalls", "false")},
			`"max_tokens":4096,"tool_choice":{"type":"auto","disable_parallel_tool_use":true},` + wireTools,
		},
		{
			"a tool of the provider's",
			anthropic.Dialect{},
			llm.Request{
				Tools: []llm.ToolDefinition{
					{Name: "web_search", Hosted: jsontext.Value(`{"type":"web_search_20250305","name":"web_search","max_uses":5}`)},
				},
			},
			`"max_tokens":4096,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5}]`,
		},
		{
			"native format", adaptive,
			llm.Request{OutputSchema: jsontext.Value(format), Options: effort("low")},
			`"max_tokens":4096,"thinking":{"type":"adaptive","display":"summarized"},` +
				`"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object",` +
				`"properties":{"a":{"type":"string","description":"(minLength: 3)"}},"additionalProperties":false}}}`,
		},
		{
			"what may be null stays so", adaptive,
			llm.Request{
				OutputSchema: jsontext.Value(
					`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`,
				),
			},
			`"max_tokens":4096,"output_config":{"format":{"type":"json_schema","schema":{"type":"object",` +
				`"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}}}`,
		},
		{
			"a tool for a format that refers to itself", adaptive,
			llm.Request{
				OutputSchema: jsontext.Value(
					`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#"}},"b":{"anyOf":[{"type":"string"},` +
						`{"type":"null"}]}},"required":["a","b"]}`,
				),
			},
			`"max_tokens":4096,"tool_choice":{"type":"tool","name":"structured_answer"},` +
				`"tools":[{"name":"structured_answer","description":"Give the answer. Call this once, at the end, ` +
				`instead of writing text.","input_schema":{"type":"object","properties":{"a":{"type":"array",` +
				`"items":{"$ref":"#"}},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a","b"]}}]`,
		},
		{
			"a tool for a format of a user's",
			anthropic.Dialect{},
			llm.Request{
				Tools: []llm.ToolDefinition{
					{
						Name: "f", Description: "d", StructuredOutput: true,
						Schema: jsontext.Value(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`),
					},
				},
			},
			`"max_tokens":4096,"tools":[{"name":"f","description":"d","input_schema":{"type":"object",` +
				`"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}]`,
		},
		{
			"a tool for a format that cannot be closed", adaptive,
			llm.Request{OutputSchema: jsontext.Value(`{"type":"object","additionalProperties":{"type":"string"}}`)},
			`"max_tokens":4096,"tool_choice":{"type":"tool","name":"structured_answer"},` +
				`"tools":[{"name":"structured_answer","description":"Give the answer. Call this once, at the end, ` +
				`instead of writing text.","input_schema":{"type":"object","additionalProperties":{"type":"string"}}}]`,
		},
		{
			"a tool for the format",
			anthropic.Dialect{},
			llm.Request{OutputSchema: jsontext.Value(format)},
			`"max_tokens":4096,"tool_choice":{"type":"tool","name":"structured_answer"},"tools":[` + answer + `]`,
		},
		{
			"a tool for the format, beside others",
			anthropic.Dialect{},
			llm.Request{Tools: tools, OutputSchema: jsontext.Value(format)},
			`"max_tokens":4096,"tool_choice":{"type":"any"},"tools":[{"name":"f","description":"d",` +
				`"input_schema":{"type":"object"}},` + answer + `]`,
		},
		{
			"other options",
			anthropic.Dialect{},
			llm.Request{
				Options: map[string]jsontext.Value{
					"speed": jsontext.Value(`"fast"`), "store": jsontext.Value("false"), "mcpServers": jsontext.Value("[]"),
				},
			},
			`"max_tokens":4096,"speed":"fast","mcp_servers":[]`,
		},
		{
			"a budget of the task", adaptive,
			llm.Request{Options: options("taskBudget", `{"type":"tokens","total":20000}`, "effort", `"low"`)},
			`"max_tokens":4096,"output_config":{"effort":"low","task_budget":{"type":"tokens","total":20000}}`,
		},
		{
			"members as the SDK spells them",
			anthropic.Dialect{},
			llm.Request{
				Options: options(
					"mcpServers", `[{"type":"url","authorizationToken":"aB","toolConfiguration":{"allowedTools":["xY"]}}]`, "metadata",
					`{"userId":"u"}`,
				),
			},
			`"max_tokens":4096,"mcp_servers":[{"authorization_token":"aB","tool_configuration":{"allowed_tools":["xY"]},` +
				`"type":"url"}],"metadata":{"user_id":"u"}`,
		},
		{
			"body fields",
			anthropic.Dialect{},
			llm.Request{Options: options("effort", `"low"`), Body: options("output_config", "{}")},
			`"max_tokens":4096,"output_config":{}`,
		},
		{
			"marks that last an hour",
			anthropic.Dialect{},
			llm.Request{
				System: []string{"a"}, Breakpoints: llm.CacheBreakpoints{System: 1}, Options: options("cacheTTL", `"1h"`),
			},
			`"max_tokens":4096,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]`,
		},
		{
			"a configuration that caches itself",
			anthropic.Dialect{},
			llm.Request{
				System: []string{"a"}, Breakpoints: llm.CacheBreakpoints{System: 1, Messages: []int{0}},
				Options: options("cacheControl", `{"type":"ephemeral"}`),
			},
			`"max_tokens":4096,"system":[{"type":"text","text":"a"}],"cache_control":{"type":"ephemeral"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model, tt.req.Messages = "m", []llm.Message{user(textOf("hi"))}
			got, err := tt.d.Encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			want := llmtest.DecodeTree(t, `{"model":"m","stream":true,"messages":[`+says1("user", text1("hi"))+`],`+tt.want+`}`)
			if diff := cmp.Diff(want, llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeVertex(t *testing.T) {
	d := anthropic.Dialect{Vertex: true}
	got, err := d.Encode(&llm.Request{Model: "claude-x"})
	if err != nil || strings.Contains(string(got), `"model"`) ||
		!strings.Contains(string(got), `"anthropic_version":"vertex-2023-10-16"`) {
		t.Errorf("%v %s", err, got)
	}
	if path := d.RequestPath("claude-x"); path != "models/claude-x:streamRawPredict" {
		t.Error(path)
	}
}

// TestMarks marks the ends of messages, never a thought, and no more than four places.
func TestMarks(t *testing.T) {
	req := &llm.Request{
		System: []string{"a", "b"}, Breakpoints: llm.CacheBreakpoints{System: 2, Messages: []int{0, 1, 2}},
		Messages: []llm.Message{
			user(textOf("a")), replies(textOf("b"), thought("c", `{"signature":"s"}`)), user(textOf("d")),
		},
	}
	got, err := anthropic.Dialect{}.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	const marked = `,"cache_control":{"type":"ephemeral"}}`
	want := `"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"b"` + marked +
		`,{"type":"thinking","thinking":"c","signature":"s"}]},{"role":"user","content":[{"type":"text","text":"d"` + marked +
		`]}]`
	if strings.Count(string(got), "cache_control") != 4 || !strings.Contains(string(got), want) {
		t.Errorf("%s", got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	budget := anthropic.Dialect{Thinking: wire.ThinkingBudget}
	tests := []struct {
		name string
		req  llm.Request
		want string
	}{
		{"protocol key", llm.Request{Body: options("max_tokens", "1")}, `"max_tokens"`},
		{"effort", llm.Request{Options: options("reasoningEffort", "3")}, "reasoningEffort"},
		{"unknown effort", llm.Request{Options: options("reasoningEffort", `"huge"`)}, "huge"},
		{"thinking", llm.Request{Options: options("thinking", "true")}, "thinking"},
		{"broken body value", llm.Request{Body: options("x", "{")}, "cannot be encoded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := budget.Encode(&tt.req)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Class != llm.InvalidRequest || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
