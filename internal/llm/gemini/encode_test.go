package gemini_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

// What conversations are made of.
var (
	replies = llmtest.AssistantMessage
	system  = llmtest.SystemMessage
	textOf  = llmtest.TextPart
	user    = llmtest.UserMessage
)

func result(id string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: id, Name: "other", Content: parts}}}
}

func call(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "f_" + id, Input: jsontext.Value(`{"x":1}`)}
}

// ours returns the metadata that this protocol stores with a part.
func ours(members string) llm.Metadata {
	return llm.Metadata{"google": jsontext.Value("{" + members + "}")}
}

var png = llm.Media{MediaType: "image/png", Data: []byte{1, 2, 3}, Name: "a.png"}

const (
	pngPart = `{"inlineData":{"mimeType":"image/png","data":"AQID"}}`
	callA   = `{"functionCall":{"name":"f_a","args":{"x":1}}}`
	callB   = `{"functionCall":{"name":"f_b","args":{"x":1}}}`
	wrapped = `{"text":"<system-update>\nb < c\n</system-update>"}`
)

func asks(parts string) string  { return `{"role":"user","parts":[` + parts + `]}` }
func model(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }

func responds(id, text string) string {
	return `{"functionResponse":{"name":"f_` + id + `","response":{"name":"f_` + id + `","content":"` + text + `"}}}`
}

func TestEncodeContents(t *testing.T) {
	const signature = `"thoughtSignature":"s"`
	ran := llm.ToolCall{
		ID: "c", Name: "code_execution", Input: jsontext.Value(`{}`), Hosted: true,
		Metadata: ours(`"part":{"executableCode":{"code":"1"}}`),
	}
	came := llm.ToolResult{
		ID: "c", Name: "code_execution", Hosted: true, Raw: jsontext.Value(`{"outcome":"OUTCOME_OK"}`),
		Metadata: ours(`"part":{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}`),
	}
	strange, strangeResult := ran, came
	strange.Metadata, strangeResult.Metadata = nil, nil
	made := llm.ToolCall{
		ID: "i", Name: "image_generation", Input: jsontext.Value(`{}`), Hosted: true,
		Metadata: ours(`"picture":true,` + signature),
	}
	drawn := llm.ToolResult{
		ID: "i", Name: "image_generation", Hosted: true, Raw: jsontext.Value(`{}`), Metadata: made.Metadata,
		Content: []llm.Part{llm.Media{MediaType: "image/png", Data: []byte("pixels")}},
	}
	strangeMade, strangeDrawn := made, drawn
	strangeMade.Metadata, strangeDrawn.Metadata = nil, nil
	signed := call("a")
	signed.Metadata = ours(signature)
	tests := []struct {
		name, model string
		msgs        []llm.Message
		want        []string
	}{
		{"nothing to say", "", []llm.Message{user(), replies(), user(textOf(""))}, nil},
		{
			"media", "",
			[]llm.Message{
				user(
					textOf("a"), png, llm.Media{MediaType: "application/pdf", Data: []byte{1}},
					llm.Media{MediaType: "video/mp4", URL: "https://h/v"},
				),
			},
			[]string{
				asks(
					`{"text":"a"},` + pngPart +
						`,{"inlineData":{"mimeType":"application/pdf","data":"AQ=="}},` +
						`{"fileData":{"mimeType":"video/mp4","fileUri":"https://h/v"}}`,
				),
			},
		},
		{
			"other media become notes", "",
			[]llm.Message{user(llm.Media{MediaType: "application/zip", Data: []byte("x"), Name: "a.zip"})},
			[]string{
				asks(
					`{"text":"[attachment \"a.zip\" (application/zip) was left out: this model's interface takes images, sounds, ` +
						`films and PDF documents only]"}`,
				),
			},
		},
		{
			"what one says in a row is one content", "",
			[]llm.Message{user(textOf("a")), user(textOf("b")), replies(textOf("x")), replies(textOf("y"))},
			[]string{asks(`{"text":"a"},{"text":"b"}`), model(`{"text":"x"},{"text":"y"}`)},
		},
		{
			"the results of one answer are one content, with their media, and nothing else", "",
			[]llm.Message{
				replies(call("a"), call("b")), result("a", textOf("x"), textOf("y"), png), result("b", png), user(textOf("go")),
			},
			[]string{
				model(callA + "," + callB),
				asks(responds("a", `x\ny`) + "," + pngPart + "," + responds("b", "The media follow.") + "," + pngPart),
				asks(`{"text":"go"}`),
			},
		},
		{
			"an update joins the user content before it", "",
			[]llm.Message{user(textOf("a")), system("b < c"), replies(textOf("x"))},
			[]string{asks(`{"text":"a"},` + wrapped), model(`{"text":"x"}`)},
		},
		{
			"an update never stands between a call and its result", "",
			[]llm.Message{replies(call("a"), call("b")), result("a"), system("b < c"), result("b")},
			[]string{model(callA + "," + callB), asks(responds("a", "") + "," + responds("b", "")), asks(wrapped)},
		},
		{
			"signatures go back where they came from", "",
			[]llm.Message{
				replies(
					llm.Reasoning{Text: "hm", Metadata: ours(signature)}, llm.Reasoning{Text: "bare"}, llm.Reasoning{},
					llm.Text{Text: "t", Metadata: ours(signature)}, signed, call("b"),
				),
			},
			[]string{
				model(
					`{"text":"hm","thought":true,` + signature + `},{"text":"bare","thought":true},{"text":"t",` + signature +
						`},{"functionCall":{"name":"f_a","args":{"x":1}},` + signature + `},` + callB,
				),
			},
		},
		{
			"a model that insists on signatures gets one", "gemini-3-pro-preview",
			[]llm.Message{replies(call("a"), call("b"))},
			[]string{
				model(
					`{"functionCall":{"name":"f_a","args":{"x":1}},"thoughtSignature":"skip_thought_signature_validator"},` + callB,
				),
			},
		},
		{
			"a later model under another name gets one", "gemini-flash-latest",
			[]llm.Message{replies(call("b"))},
			[]string{
				model(`{"functionCall":{"name":"f_b","args":{"x":1}},"thoughtSignature":"skip_thought_signature_validator"}`),
			},
		},
		{
			"an earlier model gets none", "gemini-2.5-pro",
			[]llm.Message{replies(call("b"))},
			[]string{model(callB)},
		},
		{
			"what the vendor ran goes back as it came", "",
			[]llm.Message{replies(ran, came)},
			[]string{model(`{"executableCode":{"code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}`)},
		},
		{
			"what the vendor ran beside functions, and ids of calls", "",
			[]llm.Message{replies(
				llm.ToolCall{
					ID: "s1", Name: "google_search_web", Input: jsontext.Value(`{}`), Hosted: true,
					Metadata: ours(`"part":{"thoughtSignature":"x","toolCall":{"id":"s1"}}`),
				},
				llm.ToolResult{
					ID: "s1", Name: "google_search_web", Hosted: true, Raw: jsontext.Value(`{"id":"s1"}`),
					Metadata: ours(`"part":{"toolResponse":{"id":"s1"}}`),
				},
				llm.ToolCall{ID: "mine", Name: "f_a", Input: jsontext.Value(`{"x":1}`), Metadata: ours(`"callId":"theirs"`)},
			), result("mine")},
			[]string{
				model(
					`{"thoughtSignature":"x","toolCall":{"id":"s1"}},{"toolResponse":{"id":"s1"}},` +
						`{"functionCall":{"id":"theirs","name":"f_a","args":{"x":1}}}`,
				),
				asks(`{"functionResponse":{"id":"theirs","name":"f_a","response":{"name":"f_a","content":""}}}`),
			},
		},
		{
			"images return to their provider and become notes for others", "",
			[]llm.Message{replies(made, drawn), replies(strangeMade, strangeDrawn)},
			[]string{
				model(
					`{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"},` + signature +
						`},{"text":"[image_generation was run by the provider with {}]"},` +
						`{"text":"[image_generation returned: The attachment follows in the next user message.]"}`,
				),
				asks(`{"text":"Attachments of the answer above:"},{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"}}`),
			},
		},
		{
			"other providers' tools become notes", "",
			[]llm.Message{replies(strange, strangeResult)},
			[]string{
				model(
					`{"text":"[code_execution was run by the provider with {}]"},` +
						`{"text":"[code_execution returned: {\"outcome\":\"OUTCOME_OK\"}]"}`,
				),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gemini.Dialect{}.Encode(&llm.Request{Model: tt.model, Messages: tt.msgs})
			if err != nil {
				t.Fatal(err)
			}
			tree, _ := llmtest.DecodeTree(t, string(got)).(map[string]any)
			want := llmtest.DecodeTree(t, "["+strings.Join(tt.want, ",")+"]")
			if diff := cmp.Diff(want, tree["contents"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeFields(t *testing.T) {
	half, seed, k := 0.5, int64(7), 3
	tools := []llm.ToolDefinition{
		{Name: "f", Description: "d", Schema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
		{Name: "search", Hosted: jsontext.Value(`{"googleSearch":{}}`)},
		{Name: "z", Schema: jsontext.Value(`{"type":"object"}`)},
	}
	const declared = `"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":{"type":"object",` +
		`"properties":{"a":{"type":"string"}}}},{"name":"z"}]}]`
	const both = `"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":{"type":"object",` +
		`"properties":{"a":{"type":"string"}}}},{"name":"z"}]},{"googleSearch":{}}],` +
		`"toolConfig":{"includeServerSideToolInvocations":true,"functionCallingConfig":`
	hosted := []llm.ToolDefinition{{Name: "search", Hosted: jsontext.Value(`{"googleSearch":{}}`)}}
	tests := []struct {
		name string
		req  llm.Request
		want string // without contents
	}{
		{"system", llm.Request{System: []string{"a", "b"}}, `"systemInstruction":{"parts":[{"text":"a\nb"}]}`},
		{
			"controls",
			llm.Request{
				Generate: llm.Generation{
					MaxTokens: 9, Temperature: &half, TopP: &half, TopK: &k, Seed: &seed, Stop: []string{"x"}, FrequencyPenalty: &half,
					PresencePenalty: &half,
				},
			},
			`"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"topP":0.5,"topK":3,"seed":7,"stopSequences":["x"],` +
				`"frequencyPenalty":0.5,"presencePenalty":0.5}`,
		},
		{
			"options",
			llm.Request{
				Options: map[string]jsontext.Value{
					"thinkingConfig": jsontext.Value(`{"includeThoughts":true}`), "safetySettings": jsontext.Value(`[]`),
					"store": jsontext.Value("true"),
				},
			},
			`"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"safetySettings":[]`,
		},
		{
			"thoughts are not included when they are disabled",
			llm.Request{
				Options: map[string]jsontext.Value{"thinkingConfig": jsontext.Value(`{"includeThoughts":true,"thinkingBudget":0}`)},
			},
			`"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}`,
		},
		{
			"thoughts as many as the model likes",
			llm.Request{
				Options: map[string]jsontext.Value{
					"thinkingConfig": jsontext.Value(`{"includeThoughts":true,"thinkingBudget":-1}`),
				},
			},
			`"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}`,
		},
		{"tools", llm.Request{Tools: tools}, declared},
		{"tools that the vendor runs", llm.Request{Tools: hosted}, `"tools":[{"googleSearch":{}}]`},
		{
			"a choice is of functions",
			llm.Request{Tools: hosted, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
			`"tools":[{"googleSearch":{}}]`,
		},
		{
			"both, of a model that takes both",
			llm.Request{Model: "gemini-3-pro-preview", Tools: tools},
			both + `{"mode":"VALIDATED"}}`,
		},
		{
			"both, any or none",
			llm.Request{Model: "gemini-3.1-pro", Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
			both + `{"mode":"VALIDATED"}}`,
		},
		{
			"both, some function",
			llm.Request{Model: "gemini-3-pro", Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			both + `{"mode":"ANY"}}`,
		},
		{
			"no tool is to be called",
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
			declared + `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`,
		},
		{
			"any or none",
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
			declared + `,"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`,
		},
		{
			"some tool",
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			declared + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
		},
		{
			"that tool",
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
			declared + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}`,
		},
		{
			"format",
			llm.Request{
				OutputSchema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}`),
			},
			`"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"object",` +
				`"properties":{"n":{"type":"number"}}}}`,
		},
		{
			"format of a model that reads JSON Schema",
			llm.Request{
				Model: "gemini-2.5-flash",
				OutputSchema: jsontext.Value(
					`{"type":"object","$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n"}}}`,
				),
			},
			`"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object",` +
				`"$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n"}}}}`,
		},
		{
			"format with enums and references",
			llm.Request{
				Model: "gemini-3-pro",
				OutputSchema: jsontext.Value(
					`{"type":"object","$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n","title":"N"},` +
						`"c":{"const":5},"e":{"enum":["x",1,null,true],"description":"d"}}}`,
				),
			},
			`"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object",` +
				`"$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n"},"c":{"type":"integer","enum":[5]},` +
				`"e":{"description":"d","anyOf":[{"type":"string","enum":["x"]},{"type":"integer","enum":[1]},` +
				`{"type":"boolean","description":"One of [true]."},{"type":"null"}]}}}}`,
		},
		{"compatibility fields", llm.Request{Body: map[string]jsontext.Value{"odd": jsontext.Value("1")}}, `"odd":1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gemini.Dialect{}.Encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(
				llmtest.DecodeTree(t, `{"contents":[],`+tt.want+`}`), llmtest.DecodeTree(t, string(got)),
			); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	vertex, err := gemini.Dialect{
		Vertex: true,
	}.Encode(&llm.Request{Model: "gemini-3-pro", Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}})
	if plain := strings.Replace(both, `"includeServerSideToolInvocations":true,`, "", 1); err != nil ||
		llmtest.DecodeTree(t, string(vertex)) == nil ||
		cmp.Diff(llmtest.DecodeTree(t, `{"contents":[],`+plain+`{"mode":"AUTO"}}}`), llmtest.DecodeTree(t, string(vertex))) !=
			"" {
		t.Errorf("both at Vertex: %v\n%s", err, vertex)
	}
	_, err = gemini.Dialect{}.Encode(&llm.Request{
		Body: map[string]jsontext.Value{"generation_config": jsontext.Value("1")},
	})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Class != llm.InvalidRequest {
		t.Errorf("a protected field: %v", err)
	}
}

func TestSchema(t *testing.T) {
	str := `{"type":"string"}`
	tests := []struct{ name, in, want string }{
		{
			"what the vendor does not know is left out",
			`{"type":"string","$schema":"x","title":"t","pattern":"p","format":"uri","default":1,"additionalProperties":false}`,
			str,
		},
		{
			"what it knows stays", `{"type":"string","description":"d","minLength":1,"format":"date-time","nullable":true}`,
			`{"type":"string","description":"d","minLength":1,"format":"date-time","nullable":true}`,
		},
		{
			"references into what stands elsewhere",
			`{"type":"array","items":{"$ref":"#/properties/x/$defs/a~1b/items"},` +
				`"$defs":{"a/b":{"type":"array","items":{"type":"number"}}}}`,
			`{"type":"array","items":{"type":"number"}}`,
		},
		{"enums are strings", `{"type":"integer","enum":[1,2,null]}`, `{"type":"string","enum":["1","2"],"nullable":true}`},
		{"const is an enum", `{"const":"a"}`, `{"type":"string","enum":["a"]}`},
		{"lists of types", `{"type":["string","null"]}`, `{"type":"string","nullable":true}`},
		{
			"real choices of types", `{"type":["string","array"]}`,
			`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`,
		},
		{
			"choices", `{"oneOf":[{"type":"string"},{"type":"null"},{"type":"number"}]}`,
			`{"nullable":true,"anyOf":[{"type":"string"},{"type":"number"}]}`,
		},
		{
			"a choice of one", `{"description":"d","anyOf":[{"type":"null"},{"type":"number","description":"e"}]}`,
			`{"type":"number","description":"d","nullable":true}`,
		},
		{
			"allOf",
			`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},` +
				`"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`,
		},
		{"arrays have items", `{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`},
		{
			"untyped items are strings", `{"type":"array","items":{"description":"d"}}`,
			`{"type":"array","items":{"type":"string","description":"d"}}`,
		},
		{
			"tuples", `{"type":"array","items":[{"type":"number"},{"type":"string"}]}`,
			`{"type":"array","items":{"type":"number"}}`,
		},
		{"scalars have no properties", `{"type":"string","properties":{"a":{}},"required":["a"]}`, str},
		{
			"only what is there is required", `{"properties":{"a":{"type":"string"},"b":true},"required":["a","c"]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := `{"type":"object","properties":{"x":` + tt.in + `}}`
			want := `{"type":"object","properties":{"x":` + tt.want + `}}`
			if diff := cmp.Diff(llmtest.DecodeTree(t, want), llmtest.DecodeTree(t, parameters(t, in))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	refs := `{"type":"object","properties":{"x":{"$ref":"#/$defs/a","description":"d"}},` +
		`"$defs":{"a":{"type":"object","description":"e","properties":{"y":{"type":"string"}}}}}`
	if diff := cmp.Diff(
		llmtest.DecodeTree(
			t, `{"type":"object","properties":{"x":{"type":"object","description":"d","properties":{"y":{"type":"string"}}}}}`,
		),
		llmtest.DecodeTree(t, parameters(t, refs)),
	); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	endless := parameters(
		t,
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},`+
			`"$defs":{"a":{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}}}`,
	)
	if strings.Contains(endless, "$ref") || len(endless) > 1000 {
		t.Errorf("a schema that holds itself: %s", endless)
	}
}

// parameters returns the schema that the encoder makes of a tool's schema.
func parameters(tb testing.TB, schema string) string {
	tb.Helper()
	got, err := gemini.Dialect{}.Encode(&llm.Request{
		Tools: []llm.ToolDefinition{{Name: "f", Schema: jsontext.Value(schema)}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(got), `"parameters":`)
	return strings.TrimSuffix(rest, `}]}]}`)
}

func FuzzSchema(f *testing.F) {
	f.Add(
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},` +
			`{"type":["null","array"]}]}}}`,
	)
	f.Add(
		`{"allOf":[{"allOf":[{"$ref":"#/definitions/b"}]}],"definitions":{"b":{"allOf":[{"$ref":"#/definitions/b"},` +
			`{"$ref":"#/definitions/b"}]}}}`,
	)
	f.Fuzz(func(t *testing.T, schema string) {
		if len(schema) > 2000 {
			return
		}
		req := llm.Request{Tools: []llm.ToolDefinition{{Name: "f", Schema: jsontext.Value(schema)}}}
		if got, err := (gemini.Dialect{}).Encode(&req); err != nil ||
			!jsontext.Value(got).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
			t.Errorf("%v %s", err, got)
		}
	})
}

// TestPrefixIsStable: the contents of each turn begin with the bytes of the turn before.
func TestPrefixIsStable(t *testing.T) {
	req := &llm.Request{System: []string{"s"}}
	before := ""
	for i := range 50 {
		id := fmt.Sprintf("call_%d", i)
		req.Messages = append(req.Messages, user(textOf(fmt.Sprintf("turn %d", i)), png),
			replies(llm.Reasoning{Text: "hm"}, call(id)), result(id, textOf("ok")))
		body, err := gemini.Dialect{}.Encode(req)
		if err != nil {
			t.Fatal(err)
		}
		contents, _, _ := strings.Cut(string(body), `],"systemInstruction"`)
		if !strings.HasPrefix(contents, before) {
			t.Fatalf("turn %d rewrites what was sent before", i)
		}
		before = contents
	}
}
