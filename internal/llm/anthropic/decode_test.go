package anthropic_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/wire"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var lines = llmtest.JoinLines

// stream writes each piece as a data frame between the start and the end of a message.
func stream(reason string, frames ...string) string {
	frames = append(
		[]string{`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":5,"output_tokens":1}}}`}, frames...,
	)
	if reason != "" {
		frames = append(
			frames, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":7}}`,
			`{"type":"message_stop"}`,
		)
	}
	return raw(frames...)
}

func raw(frames ...string) string {
	var out strings.Builder
	for _, f := range frames {
		out.WriteString("data: " + f + "\n\n")
	}
	return out.String()
}

func start(index, block string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
}

func delta(index, d string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":` + d + `}`
}

func stop(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }

// madeID is an id that the decoder made.
var madeID = regexp.MustCompile(`call_[a-z2-7]{8}_(\d+)`)

const finished = " in=5 out=7 reasoning=0 read=0 write=0 total=0"

var (
	says     = delta("0", `{"type":"text_delta","text":"hi"}`)
	textHi   = []string{"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0"}
	toolUse  = start("0", `{"type":"tool_use","id":"t1","name":"f","input":{}}`)
	argsPart = func(index, s string) string {
		return delta(index, `{"type":"input_json_delta","partial_json":`+s+`}`)
	}
)

var streams = []struct{ name, body, want string }{
	{
		"text, pings, unknown blocks and deltas",
		stream(
			"end_turn", `{"type":"ping"}`, start("0", `{"type":"text","text":""}`), says, delta("0", `{"type":"future_delta"}`),
			stop("0"), start("1", `{"type":"future"}`), stop("1"), `{"type":"future"}`,
		),
		lines(append(textHi, "finish stop"+finished)...),
	},
	{"blocks without start or end", stream("end_turn", says), lines(append(textHi, "finish stop"+finished)...)},
	{
		"thinking with its signature, then text",
		stream(
			"end_turn", start("0", `{"type":"thinking","thinking":"","signature":""}`),
			delta("0", `{"type":"thinking_delta","thinking":"hm"}`), delta("0", `{"type":"signature_delta","signature":"a=="}`),
			stop("0"), delta("1", `{"type":"text_delta","text":"hi"}`), stop("1"),
		),
		lines(
			"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`,
			`reasoning-end reasoning-0 anthropic={"signature":"a=="}`, "text-start text-0", `text-delta text-0 "hi"`,
			"text-end text-0", "finish stop"+finished,
		),
	},
	{
		"thinking that is not shown, and redacted thinking",
		stream(
			"end_turn", start("0", `{"type":"thinking","thinking":"","signature":"s"}`), stop("0"),
			start("1", `{"type":"redacted_thinking","data":"zz"}`), stop("1"), start("2", `{"type":"thinking","thinking":""}`),
			stop("2"),
		),
		lines(
			"opened req-1", "reasoning-start reasoning-0", `reasoning-end reasoning-0 anthropic={"signature":"s"}`,
			"reasoning-start reasoning-1", `reasoning-end reasoning-1 anthropic={"redactedData":"zz"}`, "finish stop"+finished,
		),
	},
	{
		"two calls interleaved, empty deltas, one id twice",
		stream(
			"tool_use", toolUse, start("1", `{"type":"tool_use","id":"t1","name":"g","input":{}}`), argsPart("0", `""`),
			argsPart("1", `"{\"a\":"`), argsPart("0", `"{}"`), argsPart("1", `"1}"`), stop("1"), stop("0"),
		),
		lines(
			"opened req-1", "input-start t1 f", "input-start call_ID_1 g", `input-delta call_ID_1 "{\"a\":"`,
			`input-delta t1 "{}"`, `input-delta call_ID_1 "1}"`, "input-end call_ID_1", "input-end t1",
			"call t1 f {}", `call call_ID_1 g {"a":1}`, "finish tool-calls"+finished,
		),
	},
	{
		"a call without arguments and stop reason end_turn", stream("end_turn", toolUse, stop("0")),
		lines("opened req-1", "input-start t1 f", "input-end t1", "call t1 f {}", "finish tool-calls"+finished),
	},
	{
		"arguments cut by the limit", stream("max_tokens", toolUse, argsPart("0", `"{\"a"`)),
		lines(
			"opened req-1", "input-start t1 f", `input-delta t1 "{\"a"`, "input-end t1",
			`call t1 f INVALID the arguments are not valid JSON: unexpected EOF at byte 3: "{\"a"`, "finish length"+finished,
		),
	},
	{
		"no arguments before the limit", stream("max_tokens", toolUse),
		lines(
			"opened req-1", "input-start t1 f", "input-end t1",
			`call t1 f INVALID the answer reached its output limit before the arguments of this call, so it was not run: ""`,
			"finish length"+finished,
		),
	},
	{
		"a call of an answer that was refused", stream("refusal", toolUse, stop("0")),
		lines(
			"opened req-1", "input-start t1 f", "input-end t1",
			`call t1 f INVALID the provider's content filter cut the answer off, so this call was not run: ""`,
			"finish content-filter"+finished,
		),
	},
	{
		"a search of the provider's, with citations",
		stream(
			"end_turn", start("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`),
			argsPart("0", `"{\"query\":\"x\"}"`), stop("0"),
			start(
				"1",
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",`+
					`"encrypted_content":"e"}]}`,
			),
			stop("1"), start("2", `{"type":"text","text":"","citations":[]}`),
			delta("2", `{"type":"citations_delta","citation":{"url":"u","encrypted_index":"i"}}`),
			delta("2", `{"type":"text_delta","text":"hi"}`), stop("2"),
		),
		lines(
			"opened req-1", "input-start srvtoolu_1 web_search", `input-delta srvtoolu_1 "{\"query\":\"x\"}"`,
			"input-end srvtoolu_1", `hosted srvtoolu_1 web_search {"query":"x"}`,
			`returned srvtoolu_1 web_search {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",`+
				`"content":[{"type":"web_search_result","encrypted_content":"e"}]}`,
			"text-start text-0", `text-delta text-0 "hi"`,
			`text-end text-0 anthropic={"citations":[{"url":"u","encrypted_index":"i"}]}`, "finish stop"+finished,
		),
	},
	{
		"a pause",
		stream(
			"pause_turn", start("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`),
			stop("0"),
		),
		lines(
			"opened req-1", "input-start srvtoolu_1 web_search", `input-delta srvtoolu_1 "{\"query\":\"x\"}"`,
			"input-end srvtoolu_1", `hosted srvtoolu_1 web_search {"query":"x"}`, "finish paused"+finished,
		),
	},
	{
		"the result of a call before the pause, which failed",
		stream(
			"end_turn",
			start(
				"0",
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error",`+
					`"error_code":"max_uses_exceeded"}}`,
			),
			stop("0"),
		),
		lines("opened req-1", "input-start srvtoolu_1 web_search", "input-end srvtoolu_1", `hosted srvtoolu_1 web_search {}`,
			`failed srvtoolu_1 web_search {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",`+
				`"content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`, "finish stop"+finished),
	},
	{
		"the provider asks an MCP server",
		stream(
			"end_turn", start("0", `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"a":1}}`),
			stop("0"), start("1", `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":true,"content":[]}`),
			stop("1"),
		),
		lines(
			"opened req-1", "input-start mcptoolu_1 echo", `input-delta mcptoolu_1 "{\"a\":1}"`, "input-end mcptoolu_1",
			`hosted mcptoolu_1 echo {"a":1} anthropic={"serverName":"s"}`,
			`failed mcptoolu_1 echo {"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":true,"content":[]}`,
			"finish stop"+finished,
		),
	},
	{
		"a structured answer that comes as a call is text",
		stream(
			"tool_use", start("0", `{"type":"tool_use","id":"t1","name":"structured_answer","input":{}}`),
			argsPart("0", `"{\"a\":"`), argsPart("0", `"1}"`), stop("0"),
		),
		lines(
			"opened req-1", "text-start text-0", `text-delta text-0 "{\"a\":"`, `text-delta text-0 "1}"`, "text-end text-0",
			"finish stop"+finished,
		),
	},
	{
		"an answer that is no stream",
		`{"type":"message","id":"msg_1","content":[{"type":"text","text":"hi"},` +
			`{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}],` +
			`"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":7}}`,
		lines(
			append(
				textHi, "input-start t1 f", `input-delta t1 "{\"a\":1}"`, "input-end t1", `call t1 f {"a":1}`,
				"finish tool-calls"+finished,
			)...,
		),
	},
	{
		"cached input is part of the input, and a later nothing replaces nothing",
		raw(
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_creation_input_tokens":20,`+
				`"cache_read_input_tokens":100,"output_tokens":1}}}`,
			says,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+
				`"usage":{"input_tokens":0,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}`,
		),
		lines(append(textHi, "finish stop in=125 out=9 reasoning=4 read=100 write=20 total=0")...),
	},
	{
		"overloaded", stream("", says, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		lines("opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "error Overloaded (overloaded)"),
	},
	{
		"too long",
		raw(
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
		),
		lines("error prompt is too long: 210000 tokens > 200000 maximum (context-overflow)"),
	},
	{
		"server error", raw(`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`),
		lines("error Internal server error (overloaded)"),
	},
	{
		"an error after the end is ignored",
		stream("end_turn", says) + raw(`{"type":"error","error":{"type":"api_error","message":"x"}}`),
		lines(append(textHi, "finish stop"+finished)...),
	},
	{
		"no finish", stream("", says),
		lines(
			"opened req-1", "text-start text-0", `text-delta text-0 "hi"`,
			"error the answer ended without a finish marker (incomplete)",
		),
	},
	{
		"an end without a reason", stream("", says) + raw(`{"type":"message_stop"}`),
		lines(append(textHi[:len(textHi):len(textHi)], "finish unknown in=5 out=1 reasoning=0 read=0 write=0 total=0")...),
	},
	{
		"a call announced and missing", stream("tool_use", says),
		lines(append(textHi[:3:3],
			"error the provider announced a tool call and sent none (malformed)")...),
	},
	{
		"a refusal with the status of a success", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`,
		lines("error insufficient balance (quota)"),
	},
	{"nothing", "", lines("error the provider accepted the request but sent no answer (empty)")},
	{
		"nothing said", stream("end_turn"),
		lines("opened req-1", "error the provider sent an answer without text, reasoning or tool calls (empty)"),
	},
	{"refused", stream("refusal"), lines("opened req-1", "error the provider refused the request (content-filter)")},
	{
		"the window is full", stream("model_context_window_exceeded", says),
		lines(
			append(
				textHi[:3:3], "error the answer was cut off because the model's context window is full (context-overflow)",
			)...,
		),
	},
	{"unknown reason", stream("because", says), lines(append(textHi, "finish unknown"+finished)...)},
	{
		"what has another type than it should is as if it were not there",
		raw(
			`{"type":"message_start","message":"x"}`, `{"type":"message_start","message":{"id":5,"usage":[]}}`,
			`{"type":"content_block_start","index":"0","content_block":{"type":5}}`,
			`{"type":"content_block_start","index":0,"content_block":null}`,
			`{"type":"content_block_delta","index":0,"delta":null}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":5}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":null,"citations":5}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi","citation":7}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":"x","input_tokens":3}}`,
			`{"type":"message_stop"}`,
		),
		lines(append(textHi, "finish stop in=3 out=0 reasoning=0 read=0 write=0 total=0")...),
	},
	{
		"a call of the provider's that its own code made",
		stream(
			"end_turn",
			start(
				"0",
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"},`+
					`"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_0"}}`,
			),
			stop("0"),
			start(
				"1",
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","caller":{"type":"code_execution_20260120",`+
					`"tool_id":"srvtoolu_0"},"content":[]}`,
			),
			stop("1"),
		),
		lines(
			"opened req-1", "input-start srvtoolu_1 web_search", `input-delta srvtoolu_1 "{\"query\":\"x\"}"`,
			"input-end srvtoolu_1",
			`hosted srvtoolu_1 web_search {"query":"x"} anthropic={"caller":{"type":"code_execution_20260120",`+
				`"tool_id":"srvtoolu_0"}}`,
			`returned srvtoolu_1 web_search {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",`+
				`"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_0"},"content":[]}`,
			"finish stop"+finished,
		),
	},
	{
		"an answer that begins anew",
		raw(
			`{"type":"message_start","message":{"id":"m1"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t2","name":"f"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}`,
			`{"type":"message_start","message":{"id":"m2"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t3","name":"f","input":{"a":2}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
		),
		lines(
			"opened req-1", "input-start t1 f", `input-delta t1 "{\"a\":1}"`, "input-end t1", "input-start t2 f",
			`input-delta t2 "{\"a"`, "input-end t2", "input-start t3 f", `input-delta t3 "{\"a\":2}"`, "input-end t3",
			`call t1 f INVALID the provider restarted its answer, so this call was not run: "{\"a\":1}"`,
			`call t2 f INVALID the provider restarted its answer, so this call was not run: "{\"a"`, `call t3 f {"a":2}`,
			"finish tool-calls in=0 out=0 reasoning=0 read=0 write=0 total=0",
		),
	},
	{
		"not JSON", "data: {oops\n\n",
		lines("error the provider sent a frame that is not a Messages event: {oops (malformed)"),
	},
	{
		"a web page", "<html>",
		lines(
			"error the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or " +
				"login page (malformed)",
		),
	},
}

func TestDecode(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			got := madeID.ReplaceAllString(llmtest.Print(decode(strings.NewReader(tt.body))), "call_ID_$1")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, n := range []int{1, 2, 5} {
				again := madeID.ReplaceAllString(llmtest.Print(decode(&llmtest.SlowReader{Text: tt.body, Step: n})), "call_ID_$1")
				if again != got {
					t.Errorf("split at every %d bytes: %s", n, cmp.Diff(got, again))
				}
			}
			llmtest.CheckStream(t, decode, tt.body)
		})
	}
}

// TestDecodeBounds sends what no honest provider sends.
func TestDecodeBounds(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	var calls, blocks, args []string
	for i := range 300 {
		calls = append(calls, start("0", fmt.Sprintf(`{"type":"tool_use","id":"%d","name":"f"}`, i%7)))
		blocks = append(blocks, start(strconv.Itoa(i), `{"type":"text","text":"a"}`))
	}
	for range 10 {
		args = append(args, argsPart("0", `"`+mega+`"`))
	}
	tests := []struct{ name, body, want string }{
		{"calls", stream("tool_use", calls...), "more than 256 tool calls"},
		{"blocks", stream("end_turn", blocks...), "more than 256 content blocks"},
		{"arguments", stream("tool_use", append([]string{toolUse}, args...)...), "more than 8 MiB of arguments"},
		{
			"a name", stream("tool_use", start("0", `{"type":"tool_use","id":"a","name":"`+mega+`"}`)),
			"name of more than 256 bytes",
		},
		{
			"a frame of one mebibyte is accepted", stream("end_turn", delta("0", `{"type":"text_delta","text":"`+mega+`"}`)),
			"finish stop",
		},
		{"frames", "data: " + strings.Repeat(mega, 33), "a frame of more than 32 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := llmtest.Print(decode(strings.NewReader(tt.body)))
			if !strings.Contains(got, tt.want) {
				t.Errorf("no %q in\n%.300s", tt.want, got)
			}
		})
	}
}

func TestFor(t *testing.T) {
	tests := []struct {
		model string
		want  anthropic.Dialect
	}{
		{"claude-3-7-sonnet-20250219", anthropic.Dialect{Thinking: wire.ThinkingBudget}},
		{"anthropic/claude-sonnet-4.5", anthropic.Dialect{Thinking: wire.ThinkingBudget, NativeFormat: true}},
		{"claude-haiku-4-5-20251001", anthropic.Dialect{Thinking: wire.ThinkingBudget, NativeFormat: true}},
		{"us.anthropic.claude-opus-4-5-20251101-v1:0", anthropic.Dialect{Thinking: wire.ThinkingEffort, NativeFormat: true}},
		{"claude-sonnet-4-6", anthropic.Dialect{Thinking: wire.ThinkingAdaptive, NativeFormat: true}},
		{"claude-opus-4-7", anthropic.Dialect{Thinking: wire.ThinkingAdaptiveXHigh, NoSampling: true, NativeFormat: true}},
		{
			"claude-opus-4-8",
			anthropic.Dialect{Thinking: wire.ThinkingAdaptiveXHigh, NoSampling: true, NativeFormat: true, SystemMessages: true},
		},
		{"claude-sonnet-5", anthropic.Dialect{Thinking: wire.ThinkingAdaptiveXHigh, NoSampling: true, NativeFormat: true}},
		{
			"claude-fable-5@20270101",
			anthropic.Dialect{Thinking: wire.ThinkingAdaptiveXHigh, NoSampling: true, NativeFormat: true},
		},
		{"claude-opus-4-20250514", anthropic.Dialect{Thinking: wire.ThinkingBudget}},
		{"kimi-k2-thinking", anthropic.Dialect{Thinking: wire.ThinkingBudget}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, anthropic.NewDialect(tt.model, true)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.model, diff)
		}
	}
	if got := anthropic.NewDialect("claude-opus-4-7", false); got.Thinking != wire.ThinkingOff {
		t.Errorf("a model without reasoning thinks: %+v", got)
	}
}
