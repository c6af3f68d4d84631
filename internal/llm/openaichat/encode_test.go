package openaichat_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
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

var png = llm.Media{MediaType: "image/png", Data: []byte{1, 2, 3}, Name: "a.png"}

const pngURL = `{"image_url":{"url":"data:image/png;base64,AQID"},"type":"image_url"}`

func TestEncodeMessages(t *testing.T) {
	thought := llm.Reasoning{
		Text: "hm",
		Metadata: llm.Metadata{
			"openaiCompatible": jsontext.Value(
				`{"reasoning_field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`,
			),
		},
	}
	foreignThought := llm.Reasoning{
		Text: "hm",
		Metadata: llm.Metadata{
			"anthropic": jsontext.Value(`{"signature":"x","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`),
		},
	}
	tests := []struct {
		name string
		d    openaichat.Dialect
		msgs []llm.Message
		want string
	}{
		{
			"user text is one string",
			openaichat.Dialect{},
			[]llm.Message{user(textOf("a"), textOf("b"))},
			`[{"role":"user","content":"ab"}]`,
		},
		{
			"neighbouring users are one",
			openaichat.Dialect{MergeUsers: true},
			[]llm.Message{user(textOf("a")), user(textOf("b"), textOf("c")), replies(textOf("d")), user(textOf("e"))},
			`[{"role":"user","content":"a\n\nbc"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]`,
		},
		{"nothing to say", openaichat.Dialect{}, []llm.Message{user(), replies(), user(textOf(""))}, `[]`},
		{
			"image",
			openaichat.Dialect{},
			[]llm.Message{user(textOf("a"), png)},
			`[{"role":"user","content":[{"type":"text","text":"a"},` + pngURL + `]}]`,
		},
		{
			"image by URL",
			openaichat.Dialect{},
			[]llm.Message{user(llm.Media{MediaType: "image/JPG; x=y", URL: "https://h/a"})},
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/a"}}]}]`,
		},
		{
			"other media become notes",
			openaichat.Dialect{},
			[]llm.Message{
				user(llm.Media{MediaType: "audio/wav", Data: []byte("x"), Name: "a.wav"}, llm.Media{MediaType: "image/png"}),
			},
			`[{"role":"user","content":"[attachment \"a.wav\" (audio/wav) was left out: this model's interface takes PNG, ` +
				`JPEG, GIF and WebP images and PDF documents only][attachment \"unnamed\" (image/png) was left out: it is ` +
				`empty]"}]`,
		},
		{
			"documents",
			openaichat.Dialect{},
			[]llm.Message{
				user(textOf("read"), llm.Media{MediaType: "application/pdf", Data: []byte("x"), Name: "a.pdf"}),
				replies(call("1")), result("1", llm.Media{MediaType: "application/pdf", Data: []byte("x")}),
			},
			`[{"role":"user","content":[{"type":"text","text":"read"},` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,eA=="}}]},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}}]},` +
				`{"role":"tool","tool_call_id":"1","content":"The attachment follows in the next user message."},` +
				`{"role":"user","content":[{"type":"text","text":"Attachments of the tool results above:"},` +
				`{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,eA=="}}]}]`,
		},
		{
			"an image that is too large becomes a note",
			openaichat.Dialect{},
			[]llm.Message{user(llm.Media{MediaType: "image/png", Data: make([]byte, 20<<20+1), Name: "a.png"})},
			`[{"role":"user","content":"[attachment \"a.png\" (image/png) was left out: it is 20 MiB large, ` +
				`and 20 MiB is the limit]"}]`,
		},
		{
			"ids that no vendor takes",
			openaichat.Dialect{},
			[]llm.Message{replies(call(strings.Repeat("i", 65)), call("")), result(strings.Repeat("i", 65)), result("")},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"call_lpjq6k5nvmeoi","type":"function",` +
				`"function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"call_zpzjzzeeeirsk","type":"function",` +
				`"function":{"name":"f","arguments":"{\"x\":1}"}}]},` +
				`{"role":"tool","tool_call_id":"call_lpjq6k5nvmeoi","content":""},` +
				`{"role":"tool","tool_call_id":"call_zpzjzzeeeirsk","content":""}]`,
		},
		{
			"calls and results",
			openaichat.Dialect{},
			[]llm.Message{
				replies(textOf("a"), textOf("b"), call("1")), result("1", textOf("x"), textOf("y")), replies(call("2")),
				result("2"),
			},
			`[{"role":"assistant","content":"a\nb","tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"1","content":"x\ny"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"2","content":""}]`,
		},
		{
			"images of consecutive results stand in one user message after them",
			openaichat.Dialect{},
			[]llm.Message{replies(call("1"), call("2")), result("1", textOf("x"), png), result("2", png), user(textOf("go on"))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},` +
				`{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2",` +
				`"content":"The attachment follows in the next user message."},` +
				`{"role":"user","content":[{"type":"text","text":"Attachments of the tool results above:"},` + pngURL + `,` +
				pngURL + `]},{"role":"user","content":"go on"}]`,
		},
		{
			"an update joins the user message before it",
			openaichat.Dialect{},
			[]llm.Message{user(textOf("a")), system("b < c & d"), replies(textOf("x"))},
			`[{"role":"user","content":"a\n<system-update>\nb < c & d\n</system-update>"},` +
				`{"role":"assistant","content":"x"}]`,
		},
		{
			"an update after an answer stands alone",
			openaichat.Dialect{},
			[]llm.Message{replies(textOf("x")), system("b")},
			`[{"role":"assistant","content":"x"},{"role":"user","content":"<system-update>\nb\n</system-update>"}]`,
		},
		{
			"an update never stands between a call and its result, and joins the images",
			openaichat.Dialect{},
			[]llm.Message{replies(call("1"), call("2")), result("1", png), system("b"), result("2", textOf("y"))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},` +
				`{"role":"tool","tool_call_id":"1","content":"The attachment follows in the next user message."},` +
				`{"role":"tool","tool_call_id":"2","content":"y"},` +
				`{"role":"user","content":[{"type":"text","text":"Attachments of the tool results above:"},` + pngURL +
				`,{"type":"text","text":"\n<system-update>\nb\n</system-update>"}]}]`,
		},
		{
			"reasoning goes back the way it came",
			openaichat.Dialect{},
			[]llm.Message{replies(thought, textOf("a"))},
			`[{"role":"assistant","content":"a","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}]`,
		},
		{
			"reasoning in the dialect's field",
			openaichat.Dialect{ReasoningField: "reasoning"},
			[]llm.Message{replies(llm.Reasoning{Text: "a"}, llm.Reasoning{Text: "b"}, textOf("c"))},
			`[{"role":"assistant","content":"c","reasoning":"ab"}]`,
		},
		{
			"metadata of another namespace is not sent",
			openaichat.Dialect{},
			[]llm.Message{replies(foreignThought, textOf("a"))},
			`[{"role":"assistant","content":"a","reasoning_content":"hm"}]`,
		},
		{
			"reasoning left out",
			openaichat.Dialect{ReasoningField: openaichat.NoReasoning},
			[]llm.Message{replies(thought, textOf("a")), replies(thought)},
			`[{"role":"assistant","content":"a"}]`,
		},
		{
			"reasoning forced",
			openaichat.Dialect{ForceReasoning: true},
			[]llm.Message{replies(textOf("a")), replies(llm.Reasoning{Text: "b"})},
			`[{"role":"assistant","content":"a","reasoning_content":""},` +
				`{"role":"assistant","content":"","reasoning_content":"b"}]`,
		},
		{
			"pictures that a model made follow",
			openaichat.Dialect{},
			[]llm.Message{replies(
				textOf("a"), llm.ToolCall{ID: "h", Name: "image_generation", Input: jsontext.Value(`{}`), Hosted: true},
				llm.ToolResult{
					ID: "h", Name: "image_generation", Hosted: true, Raw: jsontext.Value(`{}`),
					Content: []llm.Part{llm.Media{MediaType: "image/png", Data: []byte("pixels")}},
				},
			), user(textOf("bigger"))},
			`[{"role":"assistant","content":"a\n[image_generation was run by the provider with {}]\n[image_generation returned: The attachment follows in the next user message.]"},
			{"role":"user","content":[{"type":"text","text":"Attachments of the tool results above:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cGl4ZWxz"}}]},
			{"role":"user","content":"bigger"}]`,
		},
		{
			"hosted tools become text",
			openaichat.Dialect{},
			[]llm.Message{replies(
				llm.ToolCall{ID: "h", Name: "web_search", Input: jsontext.Value(`{"q":1}`), Hosted: true},
				llm.ToolResult{ID: "h", Name: "web_search", Hosted: true, Raw: jsontext.Value(`[1]`)}, textOf("a"),
			)},
			`[{"role":"assistant","content":"[web_search was run by the provider with {\"q\":1}]\n[web_search returned: ` +
				`[1]]\na"}]`,
		},
		{
			"nine-character ids and a bridge",
			openaichat.Dialect{CallIDs: openaichat.NineIDs, BridgeToolUser: true},
			[]llm.Message{replies(call("abcdefghi")), result("abcdefghi"), user(textOf("a"))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f",` +
				`"arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":""},` +
				`{"role":"assistant","content":"Done."},{"role":"user","content":"a"}]`,
		},
		{
			"extra content of a call goes back",
			openaichat.Dialect{},
			[]llm.Message{
				replies(llm.ToolCall{
					ID: "1", Name: "f", Input: jsontext.Value(`oops`),
					Metadata: llm.Metadata{"openaiCompatible": jsontext.Value(`{"extra_content":{"g":1}}`)},
				}),
				result("1"),
			},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
				`"arguments":"{}"},"extra_content":{"g":1}}]},{"role":"tool","tool_call_id":"1","content":""}]`,
		},
		{
			"text that is not UTF-8",
			openaichat.Dialect{},
			[]llm.Message{user(textOf("a\xffb"))},
			`[{"role":"user","content":"a` + "\uFFFD" + `b"}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.d.Encode(&llm.Request{Model: "m", Messages: tt.msgs})
			if err != nil {
				t.Fatal(err)
			}
			want := llmtest.DecodeTree(
				t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":`+tt.want+`}`,
			)
			if diff := cmp.Diff(want, llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeFields(t *testing.T) {
	value := func(s string) map[string]jsontext.Value {
		return map[string]jsontext.Value{"reasoningEffort": jsontext.Value(`"` + s + `"`)}
	}
	tools := []llm.ToolDefinition{{Name: "f", Description: "d", Schema: jsontext.Value(`{"type":"object"}`)}}
	const wireTools = `"tools":[{"type":"function","function":{"name":"f","description":"d",` +
		`"parameters":{"type":"object"}}}]`
	tests := []struct {
		name string
		d    openaichat.Dialect
		req  llm.Request
		want string
	}{
		{
			"system texts",
			openaichat.Dialect{},
			llm.Request{System: []string{"a", "b"}},
			`"messages":[{"role":"system","content":"a\nb"}]`,
		},
		{
			"generation",
			openaichat.Dialect{},
			llm.Request{
				Generate: llm.Generation{
					MaxTokens: 9, Temperature: new(0.0), TopP: new(0.5), TopK: new(4), FrequencyPenalty: new(1.0),
					PresencePenalty: new(-1.0), Seed: new(int64(7)), Stop: []string{"x"},
				},
			},
			`"messages":[],"max_tokens":9,"temperature":0,"top_p":0.5,"frequency_penalty":1,"presence_penalty":-1,"seed":7,` +
				`"stop":["x"]`,
		},
		{
			"other names",
			openaichat.Dialect{MaxTokensField: "max_completion_tokens", TopK: true},
			llm.Request{Generate: llm.Generation{MaxTokens: 9, TopK: new(4)}},
			`"messages":[],"max_completion_tokens":9,"top_k":4`,
		},
		{
			"seed by another name",
			openaichat.Dialect{SeedField: "random_seed"},
			llm.Request{Generate: llm.Generation{Seed: new(int64(7))}},
			`"messages":[],"random_seed":7`,
		},
		{"tools", openaichat.Dialect{}, llm.Request{Tools: tools}, `"messages":[],` + wireTools},
		{
			"no tools",
			openaichat.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
			`"messages":[],"tool_choice":"none",` + wireTools,
		},
		{
			"auto",
			openaichat.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
			`"messages":[],"tool_choice":"auto",` + wireTools,
		},
		{
			"required",
			openaichat.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"messages":[],"tool_choice":"required",` + wireTools,
		},
		{
			"required by another word",
			openaichat.Dialect{Choice: openaichat.ChoiceAny},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"messages":[],"tool_choice":"any",` + wireTools,
		},
		{
			"a model that is not made to call",
			openaichat.Dialect{Choice: openaichat.ChoiceAuto},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			`"messages":[],"tool_choice":"auto",` + wireTools,
		},
		{
			"marks that last an hour",
			openaichat.Dialect{CacheField: "cache_control"},
			llm.Request{
				System: []string{"a"}, Breakpoints: llm.CacheBreakpoints{System: 1},
				Options: map[string]jsontext.Value{"cacheTTL": jsontext.Value(`"1h"`)},
			},
			`"messages":[{"role":"system","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral",` +
				`"ttl":"1h"}}]}]`,
		},
		{
			"this tool",
			openaichat.Dialect{},
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			`"messages":[],"tool_choice":{"type":"function","function":{"name":"f"}},` + wireTools,
		},
		{
			"a choice without tools",
			openaichat.Dialect{},
			llm.Request{Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"messages":[]`,
		},
		{
			"format",
			openaichat.Dialect{},
			llm.Request{OutputSchema: jsontext.Value(`{"type":"object"}`)},
			`"messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}`,
		},
		{
			"a format that can be followed strictly",
			openaichat.Dialect{},
			llm.Request{
				OutputSchema: jsontext.Value(
					`{"type":"object","properties":{"a":{"type":"string","minLength":3}},` +
						`"required":["a"],"additionalProperties":false}`,
				),
			},
			`"messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,` +
				`"schema":{"type":"object","properties":{"a":{"type":"string","description":"(minLength: 3)"}},` +
				`"required":["a"],"additionalProperties":false}}}`,
		},
		{
			"what may be null in a format",
			openaichat.Dialect{},
			llm.Request{
				Tools: []llm.ToolDefinition{
					{
						Name: "f", Description: "d", StructuredOutput: true,
						Schema: jsontext.Value(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`),
					},
				},
			},
			`"messages":[],"tools":[{"type":"function","function":{"name":"f","description":"d",` +
				`"parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}]`,
		},
		{"effort", openaichat.Dialect{}, llm.Request{Options: value("high")}, `"messages":[],"reasoning_effort":"high"`},
		{
			"effort as an object",
			openaichat.Dialect{Effort: openaichat.EffortObject, Router: true},
			llm.Request{
				Options: map[string]jsontext.Value{
					"reasoningEffort": jsontext.Value(`"low"`), "reasoning": jsontext.Value(`{"exclude":true}`),
				},
			},
			`"messages":[],"reasoning":{"effort":"low","exclude":true}`,
		},
		{
			"effort not sent",
			openaichat.Dialect{Effort: openaichat.EffortNone},
			llm.Request{Options: value("high")},
			`"messages":[]`,
		},
		{
			"options by their wire names, others' left out",
			openaichat.Dialect{},
			llm.Request{
				Options: map[string]jsontext.Value{
					"store": jsontext.Value("false"), "textVerbosity": jsontext.Value(`"low"`),
					"serviceTier": jsontext.Value(`"flex"`), "parallelToolCalls": jsontext.Value("false"),
					"thinking": jsontext.Value("{}"), "usage": jsontext.Value("{}"),
				},
			},
			`"messages":[],"store":false,"verbosity":"low","service_tier":"flex","parallel_tool_calls":false`,
		},
		{
			"thinking where the vendor knows it",
			openaichat.Dialect{Thinking: true},
			llm.Request{Options: map[string]jsontext.Value{"thinking": jsontext.Value(`{"type":"enabled"}`)}},
			`"messages":[],"thinking":{"type":"enabled"}`,
		},
		{
			"body fields win over options",
			openaichat.Dialect{},
			llm.Request{
				Options: value("high"),
				Body:    map[string]jsontext.Value{"reasoning_effort": jsontext.Value(`"max"`), "x": jsontext.Value("[1]")},
			},
			`"messages":[],"reasoning_effort":"max","x":[1]`,
		},
		{
			"cache key",
			openaichat.Dialect{CacheKey: true},
			llm.Request{CacheKey: "ses_1"},
			`"messages":[],"prompt_cache_key":"ses_1"`,
		},
		{"cache key not known", openaichat.Dialect{}, llm.Request{CacheKey: "ses_1"}, `"messages":[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model = "m"
			got, err := tt.d.Encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			want := llmtest.DecodeTree(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},`+tt.want+`}`)
			if diff := cmp.Diff(want, llmtest.DecodeTree(t, string(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		name string
		req  llm.Request
		want string
	}{
		{"protocol key", llm.Request{Body: map[string]jsontext.Value{"temperature": jsontext.Value("1")}}, `"temperature"`},
		{"other casing", llm.Request{Body: map[string]jsontext.Value{"toolChoice": jsontext.Value("1")}}, `"toolChoice"`},
		{"snake", llm.Request{Body: map[string]jsontext.Value{"stream_options": jsontext.Value("1")}}, `"stream_options"`},
		{
			"effort", llm.Request{Options: map[string]jsontext.Value{"reasoningEffort": jsontext.Value("3")}}, "reasoningEffort",
		},
		{"broken body value", llm.Request{Body: map[string]jsontext.Value{"x": jsontext.Value("{")}}, "cannot be encoded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openaichat.Dialect{}.Encode(&tt.req)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Class != llm.InvalidRequest || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	tests := []struct {
		name     string
		style    openaichat.SchemaStyle
		in, want string
	}{
		{
			"verbatim", 0, `{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`,
		},
		{"none", 0, ``, `{"type":"object","properties":{}}`},
		{"not an object", 0, `true`, `{"type":"object","properties":{}}`},
		{"root without a type", 0, `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{
			"root choice", 0,
			`{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{},"a":{}}}],"description":"d"}`,
			`{"additionalProperties":false,"description":"d","properties":{"a":{"type":"string"},"b":{}},"type":"object"}`,
		},
		{
			"null variants", 0,
			`{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]},` +
				`"b":{"items":{"oneOf":[{"type":"null"},{"type":"number"},{"type":"string"}]}}}}`,
			`{"properties":{"a":{"description":"d","type":"string"},"b":{"items":{"oneOf":[{"type":"number"},` +
				`{"type":"string"}]}}},"type":"object"}`,
		},
		{
			"a property called anyOf is no choice", 0, `{"type":"object","properties":{"anyOf":{"const":"null"}}}`,
			`{"properties":{"anyOf":{"const":"null"}},"type":"object"}`,
		},
		{
			"moonshot", openaichat.SchemaMoonshot,
			`{"type":"object","properties":{"a":{"$ref":"#/x","description":"d"},"b":{"items":[{"type":"string"},{}]},` +
				`"c":{"prefixItems":[{"type":"number"}],"unevaluatedItems":false}}}`,
			`{"properties":{"a":{"$ref":"#/x"},"b":{"items":{"type":"string"}},"c":{"items":{"type":"number"}}},` +
				`"type":"object"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := llm.Request{Tools: []llm.ToolDefinition{{Name: "f", Schema: jsontext.Value(tt.in)}}}
			got, err := openaichat.Dialect{Schema: tt.style}.Encode(&req)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), `"parameters":`+tt.want+`}`) {
				t.Errorf("want %s in\n%s", tt.want, got)
			}
		})
	}
}

// TestPrefixIsStable grows a conversation and checks that each request's messages begin with the previous one's.
func TestPrefixIsStable(t *testing.T) {
	grow := []llm.Message{
		user(textOf("a")), replies(call("1"), call("2")), result("1", png), result("2", textOf("b")), user(textOf("c"), png),
		replies(textOf("d")), system("e"), replies(textOf("f")), user(textOf("g")),
	}
	var before []byte
	for n := 1; n <= len(grow); n++ {
		if n < len(grow) && n > 0 && grow[n-1].Role == llm.RoleTool && grow[n].Role == llm.RoleTool {
			continue // a request is never sent while results are missing
		}
		got, err := openaichat.Dialect{}.Encode(&llm.Request{Model: "m", System: []string{"s"}, Messages: grow[:n]})
		if err != nil {
			t.Fatal(err)
		}
		list, _, _ := bytes.Cut(got, []byte(`],"stream":true`))
		if !bytes.HasPrefix(list, before) {
			t.Errorf("%d messages change the prefix:\n%s\n%s", n, before, list)
		}
		before = list
	}
}

func BenchmarkEncode(b *testing.B) {
	var msgs []llm.Message
	for i := range 500 {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(
			msgs, user(textOf(strings.Repeat("question ", 20))), replies(textOf("look"), call(id)),
			result(id, textOf(strings.Repeat("line\n", 100))),
		)
	}
	req := &llm.Request{Model: "m", System: []string{"s"}, Messages: msgs}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (openaichat.Dialect{}).Encode(req); err != nil {
			b.Fatal(err)
		}
	}
}
