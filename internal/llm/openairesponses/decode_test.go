package openairesponses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

var lines = llmtest.JoinLines

// stream writes each piece as a data frame.
func stream(frames ...string) string {
	var out strings.Builder
	for _, f := range frames {
		out.WriteString("data: " + f + "\n\n")
	}
	return out.String()
}

// frame is an event of that type with more members.
func frame(kind, members string) string {
	return `{"type":"response.` + kind + `",` + members + `}`
}

func added(index int, item string) string {
	return frame("output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

func done(index int, item string) string {
	return frame("output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

func says(index int, text string) string {
	return frame(
		"output_text.delta", fmt.Sprintf(`"output_index":%d,"item_id":"m","content_index":0,"delta":%s`, index, text),
	)
}

const (
	created   = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}`
	noUsage   = " in=0 out=0 reasoning=0 read=0 write=0 total=0"
)

func TestDecode(t *testing.T) {
	hi := []string{"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0"}
	thought := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"zz"}`
	tests := []struct{ name, body, want string }{
		{"text", stream(created, says(0, `"hi"`), completed), lines(append(hi, "finish stop"+noUsage)...)},
		{
			"comments, CRLF, unknown events",
			": ping\r\n\r\nevent: x\r\ndata: " + says(0, `"hi"`) + "\r\n\r\n" +
				stream(frame("queued", `"a":1`), `{"type":"keepalive"}`, completed),
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"text that is only summed up",
			stream(created, frame("output_text.done", `"output_index":0,"content_index":0,"text":"hi"`), completed),
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"text that only the item has",
			stream(
				created,
				done(
					0,
					`{"id":"m1","type":"message","phase":"commentary","content":[{"type":"output_text","text":"hi",`+
						`"annotations":[{"url":"u"}]}]}`,
				),
				completed,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "hi"`,
				`text-end text-0 openai={"annotations":[{"url":"u"}],"itemId":"m1","phase":"commentary"}`, "finish stop"+noUsage,
			),
		},
		{
			"a server that does not stream",
			`{"object":"response","id":"r","status":"completed","error":null,"output":[{"id":"m1","type":"message",` +
				`"content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}`,
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, `text-end text-0 openai={"itemId":"m1"}`,
				"finish stop in=3 out=1 reasoning=0 read=0 write=0 total=4",
			),
		},
		{
			"summary parts, the last with the encrypted reasoning",
			stream(created, added(0, `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"aa"}`),
				frame(
					"reasoning_summary_text.delta", `"output_index":0,"summary_index":0,"delta":"one"`,
				), frame("reasoning_summary_text.delta", `"output_index":0,"summary_index":1,"delta":"two"`),
				done(0, thought), says(1, `"hi"`), completed),
			lines(
				"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "one"`,
				`reasoning-end reasoning-0 openai={"itemId":"rs_1"}`,
				"reasoning-start reasoning-1", `reasoning-delta reasoning-1 "two"`,
				`reasoning-end reasoning-1 openai={"itemId":"rs_1","reasoningEncryptedContent":"zz"}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"reasoning without a summary is kept; empty reasoning is not",
			stream(
				created, done(0, thought), done(1, `{"id":"rs_2","type":"reasoning","summary":[]}`), says(2, `"hi"`), completed,
			),
			lines(
				"opened req-1", "reasoning-start reasoning-0",
				`reasoning-end reasoning-0 openai={"itemId":"rs_1","reasoningEncryptedContent":"zz"}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"reasoning as it is",
			stream(
				created, frame("reasoning_text.delta", `"output_index":0,"content_index":0,"delta":"hm"`), says(1, `"hi"`),
				completed,
			),
			lines(
				"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "text-start text-0",
				`text-delta text-0 "hi"`,
				"reasoning-end reasoning-0", "text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"a refusal is text and a content filter",
			stream(
				created, frame("refusal.delta", `"output_index":0,"delta":"no"`),
				frame("refusal.done", `"output_index":0,"refusal":"no"`), completed,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "no"`, "text-end text-0", "finish content-filter"+noUsage,
			),
		},
		{
			"a surrogate pair split over frames",
			stream(created, says(0, `"a\ud83d"`), says(0, `"\ude00b"`), says(0, `"\ud83d"`), completed),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "a"`, `text-delta text-0 "😀b"`, `text-delta text-0 "�"`,
				"text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"ids that change with every frame",
			stream(
				created, frame("output_text.delta", `"output_index":0,"item_id":"x1","delta":"h"`),
				frame("output_text.delta", `"output_index":0,"item_id":"x2","delta":"i"`), completed,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{
			"what follows the last word is not read", stream(created, says(0, `"hi"`), completed, says(0, `"more"`), "garbage"),
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"usage",
			stream(
				created, says(0, `"hi"`),
				frame(
					"completed",
					`"response":{"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":50},`+
						`"output_tokens":10,"output_tokens_details":{"reasoning_tokens":-4},"total_tokens":110}}`,
				),
			),
			lines(append(hi, "finish stop in=100 out=10 reasoning=0 read=60 write=40 total=110")...),
		},
		{
			"length",
			stream(
				created, says(0, `"hi"`), frame("incomplete", `"response":{"incomplete_details":{"reason":"max_output_tokens"}}`),
			),
			lines(append(hi, "finish length"+noUsage)...),
		},
		{
			"filtered",
			stream(
				created, says(0, `"hi"`), frame("incomplete", `"response":{"incomplete_details":{"reason":"content_filter"}}`),
			),
			lines(append(hi, "finish content-filter"+noUsage)...),
		},
		{
			"cut off for another reason", stream(created, says(0, `"hi"`), frame("incomplete", `"response":{}`)),
			lines(append(hi, "finish unknown"+noUsage)...),
		},
		{
			"filtered with nothing said",
			stream(created, frame("incomplete", `"response":{"incomplete_details":{"reason":"content_filter"}}`)),
			lines("opened req-1", "error the provider's content filter refused the request (content-filter)"),
		},
		{
			"well-formed and empty", stream(created, completed),
			lines("opened req-1", "error the provider sent an answer without text, reasoning or tool calls (empty)"),
		},
		{"nothing at all", "", lines("error the provider accepted the request but sent no answer (empty)")},
		{
			"no last word", stream(created, says(0, `"hi"`)),
			lines(append(hi[:3:3], "error the answer ended without a finish marker (incomplete)")...),
		},
		{
			"no reason for the end", stream(created, says(0, `"hi"`), "[DONE]"),
			lines(append(hi[:3:3], "text-end text-0", "finish unknown"+noUsage)...),
		},
		{
			"completed with another status", stream(
				created, says(0, `"hi"`), `{"type":"response.completed","response":{"status":"incomplete",`+
					`"incomplete_details":{"reason":"max_output_tokens"}}}`,
			),
			lines(append(hi[:3:3], "text-end text-0", "finish length"+noUsage)...),
		},
		{
			"encrypted content at the end", stream(
				created, done(0, `{"id":"rs_1","type":"reasoning","summary":[]}`), says(1, `"hi"`),
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"rs_1","type":"reasoning",`+
					`"encrypted_content":"zz"}]}}`,
			),
			lines(append(hi[:3:3], "reasoning-start reasoning-0",
				`reasoning-end reasoning-0 openai={"itemId":"rs_1","reasoningEncryptedContent":"zz","reasoningLate":true}`,
				"text-end text-0", "finish stop"+noUsage)...),
		},
		{
			"failed",
			stream(created, says(0, `"hi"`), frame("failed", `"response":{"error":{"code":"server_error","message":"boom"}}`)),
			lines(append(hi[:3:3], "error boom (overloaded)")...),
		},
		{
			"failed for no reason", stream(created, frame("failed", `"response":{"error":null}`)),
			lines("opened req-1", "error the provider ended the answer without a reason (overloaded)"),
		},
		{
			"failed by rate",
			stream(created, frame("failed", `"response":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`)),
			lines("opened req-1", "error slow down (rate-limit)"),
		},
		{
			"overflow in the stream",
			stream(
				`{"type":"error","sequence_number":1,"error":{"type":"invalid_request_error","code":"context_length_exceeded",` +
					`"message":"Your input exceeds the context window of this model."}}`,
			),
			lines("error Your input exceeds the context window of this model. (context-overflow)"),
		},
		{
			"an error without envelope", stream(`{"type":"error","code":"server_error","message":"boom","param":null}`),
			lines("error boom (overloaded)"),
		},
		{"an error by the event's name", "event: error\ndata: {\"message\":\"boom\"}\n\n", lines("error boom (overloaded)")},
		{"200 with an error body", `{"error":{"message":"bad key","code":"invalid_api_key"}}`, lines("error bad key (auth)")},
		{
			"200 with a failed answer",
			`{"object":"response","status":"failed","error":{"message":"boom","code":"server_error"}}`,
			lines("error boom (overloaded)"),
		},
		{"a list of errors", `[{"error":{"code":503,"message":"busy"}}]`, lines("error busy (overloaded, HTTP 503)")},
		{
			"a policy in the words of a bad request",
			stream(
				`{"type":"error","code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially ` +
					`violating our usage policy."}`,
			),
			lines("error Invalid prompt: your prompt was flagged as potentially violating our usage policy. (content-filter)"),
		},
		{
			"what has another type than it should is as if it were not there",
			stream(
				`{"type":"response.created","response":{"id":5,"store":"yes","output":{},"incomplete_details":"x"}}`,
				`{"type":"response.output_item.added","output_index":"0","item":5}`,
				`{"type":"response.output_text.delta","output_index":0,"content_index":"0","delta":"hi"}`,
				`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":{}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":5,"text":"hi",`+
					`"annotations":5},null,"x"],"summary":"x"}}`,
				`{"type":"response.completed","copilot_usage":5,"response":{"status":7,"incomplete_details":[],`+
					`"usage":{"input_tokens":3,"output_tokens":"x","input_tokens_details":[],"output_tokens_details":7}}}`,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0",
				"finish stop in=3 out=0 reasoning=0 read=0 write=0 total=0",
			),
		},
		{
			"parts that the pieces count otherwise than the item",
			stream(
				created, `{"type":"response.output_text.delta","output_index":1,"content_index":1,"delta":"hi"}`,
				`{"type":"response.output_text.done","output_index":1,"content_index":1,"text":"hi"}`,
				done(1, `{"type":"message","content":[{"type":"output_text","text":""},{"type":"output_text","text":"hi"}]}`),
				done(2, `{"type":"message","content":[{"type":"output_text","text":"ho"}]}`),
				`{"type":"response.reasoning_text.delta","output_index":3,"content_index":4,"delta":"hm"}`,
				done(3, `{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}`), completed,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "text-start text-1",
				`text-delta text-1 "ho"`, "text-end text-1",
				"reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "reasoning-end reasoning-0",
				"finish stop"+noUsage,
			),
		},
		{
			"web page", "<html>",
			lines(
				"error the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or " +
					"login page (malformed)",
			),
		},
		{
			"not JSON", stream(`{"type":`),
			lines(`error the provider sent a frame that is not a Responses event: {"type": (malformed)`),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 3, 1 << 20} {
				got := llmtest.Print(decode(&llmtest.SlowReader{Text: tt.body, Step: n}))
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("reads of %d (-want +got):\n%s", n, diff)
				}
			}
			llmtest.CheckStream(t, decode, tt.body)
		})
	}
}

func TestDecodeCalls(t *testing.T) {
	args := func(index int, text string) string {
		return frame("function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, index, text))
	}
	begun := func(index int, id, name string) string {
		return added(index, fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":%q,"arguments":""}`, id, name))
	}
	ended := func(index int, id, name, args string) string {
		return done(
			index,
			fmt.Sprintf(`{"type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%q}`, id, name, args),
		)
	}
	tests := []struct{ name, body, want string }{
		{
			"two at once, interleaved",
			stream(
				created, begun(0, "a", "f"), begun(1, "b", "g"), args(0, `"{\"x\""`), args(1, `"{}"`), args(0, `":1}"`),
				ended(1, "b", "g", "{}"), ended(0, "a", "f", `{"x":1}`), completed,
			),
			lines(
				"opened req-1", "input-start a f", "input-start b g", `input-delta a "{\"x\""`, `input-delta b "{}"`,
				`input-delta a ":1}"`,
				"input-end a", `call a f {"x":1}`, "input-end b", "call b g {}", "finish tool-calls"+noUsage,
			),
		},
		{
			"the arguments of the whole item count",
			stream(created, begun(0, "a", "f"), args(0, `"{"`), ended(0, "a", "f", `{"x":2}`), completed),
			lines(
				"opened req-1", "input-start a f", `input-delta a "{"`, "input-end a", `call a f {"x":2}`,
				"finish tool-calls"+noUsage,
			),
		},
		{
			"only the whole item", stream(created, ended(0, "a", "f", `{"x":1}`), completed),
			lines(
				"opened req-1", "input-start a f", `input-delta a "{\"x\":1}"`, "input-end a", `call a f {"x":1}`,
				"finish tool-calls"+noUsage,
			),
		},
		{
			"ids that are repeated or missing",
			stream(created, ended(0, "a", "f", ""), ended(1, "a", "f", ""), ended(2, "", "f", ""), completed),
			lines("opened req-1", "input-start a f", "input-start call_q7syjaza_1 f", "input-start call_wp6yacnx_2 f",
				"input-end a", "call a f {}", "input-end call_q7syjaza_1", "call call_q7syjaza_1 f {}",
				"input-end call_wp6yacnx_2", "call call_wp6yacnx_2 f {}", "finish tool-calls"+noUsage),
		},
		{
			"arguments that are no JSON", stream(created, ended(0, "a", "f", `{"x":`), completed),
			lines(
				"opened req-1", "input-start a f", `input-delta a "{\"x\":"`, "input-end a",
				`call a f INVALID the arguments are not valid JSON: unexpected EOF at byte 5: "{\"x\":"`,
				"finish tool-calls"+noUsage,
			),
		},
		{
			"cut off by the output limit",
			stream(
				created, begun(0, "a", "f"), args(0, `"{}"`),
				frame("incomplete", `"response":{"incomplete_details":{"reason":"max_output_tokens"}}`),
			),
			lines(
				"opened req-1", "input-start a f", `input-delta a "{}"`, "input-end a",
				`call a f INVALID the answer ended before this call was complete, so it was not run: "{}"`, "finish length"+noUsage,
			),
		},
		{
			"arguments of a call without a start", stream(created, args(0, `"{}"`), completed),
			lines(
				"opened req-1", "input-start call_wp6yacnx_0 invalid", `input-delta call_wp6yacnx_0 "{}"`,
				"input-end call_wp6yacnx_0", `call call_wp6yacnx_0 invalid INVALID the call does not name a tool: "{}"`,
				"finish tool-calls"+noUsage,
			),
		},
		{
			"a search of xAI's has its name and what it was asked",
			stream(
				created,
				done(
					0,
					`{"id":"ct_1","type":"custom_tool_call","call_id":"xs_1","name":"x_keyword_search","input":"{\"query\":\"q\"}"}`,
				),
				completed,
			),
			lines(
				"opened req-1", "input-start ct_1 x_keyword_search", `input-delta ct_1 "{\"input\":\"{\\\"query\\\":\\\"q\\\"}\"}"`,
				"input-end ct_1", `hosted ct_1 x_keyword_search {"input":"{\"query\":\"q\"}"} openai={"itemId":"ct_1"}`,
				`returned ct_1 x_keyword_search {"id":"ct_1","type":"custom_tool_call","call_id":"xs_1",`+
					`"name":"x_keyword_search","input":"{\"query\":\"q\"}"} openai={"itemId":"ct_1"}`,
				"finish stop"+noUsage,
			),
		},
		{
			"a call that requires approval becomes a note",
			stream(
				created,
				done(0, `{"id":"mcpr_1","type":"mcp_approval_request","server_label":"srv","name":"f","arguments":"{\"a\":1}"}`),
				completed,
			),
			lines(
				"opened req-1", "text-start text-0",
				`text-delta text-0 "[the model wants to call \"f\" of the MCP server \"srv\" with {\"a\":1}. The provider asks `+
					`for approval, which cannot be given here: `+
					`the call has not been made. With \"require_approval\": \"never\" in the server's declaration in hosted_tools `+
					`it is made without.]"`,
				`text-end text-0`, "finish stop"+noUsage,
			),
		},
		{
			"a picture is no part of the item that made it",
			stream(
				created,
				done(
					0, `{"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"webp","result":"cGl4ZWxz"}`,
				),
				completed,
			),
			lines(
				"opened req-1", "input-start ig_1 image_generation", `input-delta ig_1 "{}"`, "input-end ig_1",
				`hosted ig_1 image_generation {} openai={"itemId":"ig_1"}`,
				`returned image/webp(6 bytes) ig_1 image_generation {"id":"ig_1","output_format":"webp","status":"completed",`+
					`"type":"image_generation_call"} openai={"itemId":"ig_1"}`,
				"finish stop"+noUsage,
			),
		},
		{
			"hosted tools, with the whole item as the result",
			stream(created, added(0, `{"id":"ws_1","type":"web_search_call","status":"in_progress"}`),
				done(0, `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`),
				done(
					1, `{"id":"ci_1","type":"code_interpreter_call","status":"failed","code":"1/0","container_id":"c","outputs":[]}`,
				),
				done(
					2, `{"id":"mcp_1","type":"mcp_call","name":"f","server_label":"s","arguments":"{}","output":"o","error":null}`,
				),
				says(3, `"hi"`), completed),
			lines("opened req-1",
				"input-start ws_1 web_search", `input-delta ws_1 "{\"action\":{\"type\":\"search\",\"query\":\"q\"}}"`,
				"input-end ws_1",
				`hosted ws_1 web_search {"action":{"type":"search","query":"q"}} openai={"itemId":"ws_1"}`,
				`returned ws_1 web_search {"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search",`+
					`"query":"q"}} openai={"itemId":"ws_1"}`,
				"input-start ci_1 code_interpreter", `input-delta ci_1 "{\"code\":\"1/0\"}"`, "input-end ci_1",
				`hosted ci_1 code_interpreter {"code":"1/0"} openai={"itemId":"ci_1"}`,
				`failed ci_1 code_interpreter {"id":"ci_1","type":"code_interpreter_call","status":"failed","code":"1/0",`+
					`"container_id":"c","outputs":[]} openai={"itemId":"ci_1"}`,
				"input-start mcp_1 mcp.f", `input-delta mcp_1 "{\"arguments\":\"{}\",\"server_label\":\"s\"}"`, "input-end mcp_1",
				`hosted mcp_1 mcp.f {"arguments":"{}","server_label":"s"} openai={"itemId":"mcp_1"}`,
				`returned mcp_1 mcp.f {"id":"mcp_1","type":"mcp_call","name":"f","server_label":"s","arguments":"{}",`+
					`"output":"o","error":null} openai={"itemId":"mcp_1"}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := llmtest.Print(decode(strings.NewReader(tt.body)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeChargesFailures(t *testing.T) {
	body := stream(
		created,
		frame(
			"failed",
			`"response":{"error":{"code":"server_error","message":"boom"},"usage":{"input_tokens":7,"output_tokens":2}}`,
		),
	)
	for _, err := range decode(strings.NewReader(body)) {
		if e, ok := errors.AsType[*llm.Error](err); ok && (e.Usage == nil || e.Usage.Input != 7) {
			t.Errorf("used %+v", e.Usage)
		}
	}
}

func TestDecodeBounds(t *testing.T) {
	var items, parts strings.Builder
	for i := range 1100 {
		items.WriteString(stream(added(i, `{"type":"message"}`)))
		parts.WriteString(
			stream(frame("output_text.delta", fmt.Sprintf(`"output_index":0,"content_index":%d,"delta":"x"`, i))),
		)
	}
	long := stream(added(0, `{"type":"function_call","call_id":"a","name":"f","arguments":""}`)) +
		strings.Repeat(
			stream(frame("function_call_arguments.delta", `"output_index":0,"delta":"`+strings.Repeat("x", 1<<20)+`"`)), 9,
		)
	for name, tt := range map[string]struct{ body, want string }{
		"items":     {items.String(), "more than 1024 items"},
		"parts":     {parts.String(), "more than 1024 parts"},
		"arguments": {long, "more than 8 MiB of arguments"},
		"name": {
			stream(added(0, `{"type":"function_call","name":"`+strings.Repeat("n", 300)+`"}`)), "a tool's name of more than",
		},
	} {
		var last error
		for _, err := range decode(strings.NewReader(tt.body)) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tt.want) {
			t.Errorf("%s: got %v", name, last)
		}
	}
}

func TestDecodeReaderErrors(t *testing.T) {
	half := stream(created, says(0, `"hi"`))
	llmtest.CheckBrokenConnection(t, decode, half, half+stream(completed))
}

func TestDecodeUnended(t *testing.T) {
	llmtest.CheckUnended(t, decode, stream(created, says(0, `"hi"`), completed))
}

func TestDecodeStopsWhenAsked(t *testing.T) {
	llmtest.CheckStop(
		t, decode,
		stream(
			created, says(0, `"a"`), says(0, `"b"`), done(1, `{"type":"function_call","call_id":"a","name":"f"}`), completed,
		),
	)
}

func FuzzDecode(f *testing.F) {
	for _, x := range llmtest.LoadRecordings(f) {
		f.Add(x.Response, 7)
	}
	f.Add(
		stream(
			created, done(0, `{"id":"ws_1","type":"web_search_call","error":1}`),
			added(1, `{"type":"function_call","name":"f"}`), completed,
		),
		1,
	)
	f.Add(
		stream(
			created, done(0, "{\"id\":\"ws_1\",\"type\":\"web_search_call\",\"er\x88or\":1,\"action\":{\"a\":1,\"a\":2}}"),
			completed,
		),
		1,
	)
	f.Add(stream(created, done(0, `{"type":"_call"}`), completed), 1)
	f.Add(stream(created, done(0, `{"id":"mcp_1","type":"mcp_call","name":"`+strings.Repeat("é", 200)+`"}`), completed), 1)
	f.Add(`{"object":"response","status":"completed","output":[{"type":"reasoning","summary":[{"text":"a"}]}]}`, 3)
	f.Fuzz(func(t *testing.T, body string, step int) { llmtest.CheckSplit(t, decode, body, step) })
}
