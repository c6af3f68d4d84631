package openaichat_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
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

func says(deltaJSON string) string {
	return `{"id":"c1","choices":[{"index":0,"delta":` + deltaJSON + `}]}`
}

func ends(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const (
	done    = "[DONE]"
	noUsage = " in=0 out=0 reasoning=0 read=0 write=0 total=0"
)

// readsOnce are the members of a message or a delta with one call.
const readsOnce = `"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]`

func TestDecode(t *testing.T) {
	textHi := []string{"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0"}
	tests := []struct {
		name, body, want string
	}{
		{
			"text", stream(says(`{"role":"assistant","content":""}`), says(`{"content":"hi"}`), ends("stop"), done),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"no DONE, CRLF, comments, heartbeats",
			": ping\r\n\r\ndata: " + says(`{"content":"hi"}`) + "\r\n\r\n: ping\r\n\r\ndata: " + ends("stop") + "\r\n\r\n",
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"retry line and unknown events do not end the stream",
			"retry: 5\n\nevent: ping\ndata: {}\n\n" + stream(says(`{"content":"hi"}`), ends("stop")),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"sources are kept with the text",
			stream(
				says(`{"content":"h"}`), says(`{"content":"i","annotations":[{"type":"url_citation","n":1}]}`),
				says(`{"annotations":[{"type":"url_citation","n":2}],"executed_tools":[{"type":"search"}]}`),
				`{"citations":["https://a"],"choices":[]}`, `{"citations":["https://a","https://b"],"choices":[]}`, ends("stop"),
				done,
			),
			lines("opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`,
				`text-end text-0 openaiCompatible={"annotations":[{"type":"url_citation","n":1},`+
					`{"type":"url_citation","n":2}],"citations":["https://a","https://b"],`+
					`"executedTools":[{"type":"search"}]}`, "finish stop"+noUsage),
		},
		{
			"pictures are the result of a call",
			stream(
				says(`{"content":"hi"}`),
				says(`{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cGl4ZWxz"}}]}`), ends("stop"), done,
			),
			lines(
				append(
					textHi, "input-start call_62ddggin_0 image_generation", `input-delta call_62ddggin_0 "{}"`,
					"input-end call_62ddggin_0",
					"hosted call_62ddggin_0 image_generation {}", "returned image/png(6 bytes) call_62ddggin_0 image_generation {}",
					"finish stop"+noUsage,
				)...,
			),
		},
		{
			"reasoning_content, then text",
			stream(says(`{"reasoning_content":"hm"}`), says(`{"content":"hi"}`), ends("stop")),
			lines("opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "reasoning-end reasoning-0",
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage),
		},
		{
			"reasoning under another name is remembered, twins are said once",
			stream(says(`{"reasoning":"hm","reasoning_text":"hm"}`), says(`{"content":"hi"}`), ends("stop")),
			lines("opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`,
				`reasoning-end reasoning-0 openaiCompatible={"reasoning_field":"reasoning"}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage),
		},
		{
			"reasoning_details are joined and kept",
			stream(
				says(`{"reasoning_content":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"x"}]}`),
				says(
					`{"reasoning_content":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":"s"}]}`,
				),
				says(`{"content":"hi"}`), says(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"zz","odd":1.50}]}`),
				ends("stop"),
			),
			lines(
				"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "a"`, `reasoning-delta reasoning-0 "b"`,
				`reasoning-end reasoning-0 openaiCompatible={"reasoning_details":[{"format":"x","index":0,"signature":"s",`+
					`"text":"ab","type":"reasoning.text"}]}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "reasoning-start reasoning-1",
				`reasoning-end reasoning-1 openaiCompatible={"reasoning_details":[{"data":"zz","odd":1.50,`+
					`"type":"reasoning.encrypted"}]}`,
				"finish stop"+noUsage,
			),
		},
		{
			"content as a list of parts",
			stream(
				says(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]}`),
				ends("stop"),
			),
			lines("opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "reasoning-end reasoning-0",
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage),
		},
		{
			"a refusal is text and a content filter",
			stream(says(`{"refusal":"no"}`), ends("stop")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "no"`, "text-end text-0", "finish content-filter"+noUsage,
			),
		},
		{
			"surrogate pair split over frames",
			stream(says(`{"content":"a\ud83d"}`), says(`{"content":"\ude00b"}`), says(`{"content":"\ud83d"}`), ends("stop")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "a"`, `text-delta text-0 "😀b"`, `text-delta text-0 "�"`,
				"text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"UTF-8 split over frames",
			stream(says("{\"content\":\"a\xf0\x9f\"}"), says("{\"content\":\"\x98\x80\"}"), ends("stop")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "a"`, `text-delta text-0 "😀"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{
			"the answer ends with its stream",
			stream(says(`{"content":"h"}`), ends("stop"), says(`{"content":"i"}`), ends("length"), done, "garbage"),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`, "text-end text-0",
				"finish length"+noUsage,
			),
		},
		{
			"a call after the finish",
			stream(
				says(`{"content":"hi"}`), ends("tool_calls"),
				says(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), done,
			),
			lines(
				append(
					textHi, "input-start c1 read", `input-delta c1 "{}"`, "input-end c1", "call c1 read {}",
					"finish tool-calls"+noUsage,
				)...,
			),
		},
		{
			"a whole message after the finish says nothing new",
			stream(
				says(`{"content":"hi"}`), ends("stop"),
				`{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, done,
			),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"a message beside each delta is the answer so far",
			stream(
				`{"choices":[{"index":0,"message":{"content":"h"},"delta":{"content":"h"}}]}`,
				`{"choices":[{"index":0,"message":{},"delta":{"content":"i"}}]}`,
				`{"choices":[{"index":0,"message":{"content":"hi"},"delta":{},"finish_reason":"stop"}]}`, done,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{
			"a message after the last delta says nothing new",
			stream(
				says(`{"content":"hi"}`), `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`, done,
			),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"a message beside the delta of a call",
			stream(
				`{"choices":[{"index":0,"message":{`+readsOnce+`},"delta":{`+readsOnce+`}}]}`,
				`{"choices":[{"index":0,"message":{`+readsOnce+`},"delta":{},"finish_reason":"tool_calls"}]}`, done,
			),
			lines(
				"opened req-1", "input-start c1 read", `input-delta c1 "{}"`, "input-end c1", "call c1 read {}",
				"finish tool-calls"+noUsage,
			),
		},
		{
			"unknown finish",
			stream(says(`{"content":"hi"}`), ends("because")),
			lines(append(textHi, "finish unknown"+noUsage)...),
		},
		{
			"an empty finish reason is ignored",
			stream(`{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":""}]}`, ends("length")),
			lines(append(textHi, "finish length"+noUsage)...),
		},
		{
			"other choices are ignored",
			stream(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"hi"}}]}`, ends("stop")),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"a server that does not stream",
			`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},` +
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
			lines(append(textHi, "finish stop in=3 out=1 reasoning=0 read=0 write=0 total=0")...),
		},
		{
			"length with nothing said is an end, not an empty answer",
			stream(says(`{"content":""}`), ends("length")),
			lines("opened req-1", "finish length"+noUsage),
		},
		{"nothing at all", "", lines("error the provider accepted the request but sent no answer (empty)")},
		{
			"only comments and DONE", ": hi\n\ndata: [DONE]\n\n",
			lines("error the provider accepted the request but sent no answer (empty)"),
		},
		{
			"well-formed and empty", stream(says(`{"role":"assistant","content":""}`), ends("stop"), done),
			lines("opened req-1", "error the provider sent an answer without text, reasoning or tool calls (empty)"),
		},
		{
			"tool-calls without a call is empty", stream(ends("tool_calls")),
			lines("opened req-1", "error the provider sent an answer without text, reasoning or tool calls (empty)"),
		},
		{
			"web page", "\n <!doctype html><html>",
			lines(
				"error the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or " +
					"login page (malformed)",
			),
		},
		{
			"no finish marker", stream(says(`{"content":"hi"}`)),
			lines(append(textHi[:3:3], "error the answer ended without a finish marker (incomplete)")...),
		},
		{
			"error object in the stream",
			stream(says(`{"content":"hi"}`), `{"error":{"message":"The server had an error","type":"server_error"}}`),
			lines(append(textHi[:3:3], "error The server had an error (overloaded)")...),
		},
		{
			"an empty error is ignored",
			stream(
				`{"choices":[{"index":0,"delta":{"content":"hi"}}],"error":{}}`,
				`{"choices":[{"index":0,"delta":{},"error":"","finish_reason":"stop"}],"error":false}`,
			),
			lines(append(textHi, "finish stop"+noUsage)...),
		},
		{
			"error beside a choice",
			stream(
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],` +
					`"error":{"code":429,"message":"slow down"}}`,
			),
			lines("error slow down (rate-limit, HTTP 429)"),
		},
		{
			"error inside a choice",
			stream(`{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"upstream"},"finish_reason":"error"}]}`),
			lines("error upstream (overloaded, HTTP 502)"),
		},
		{
			"200 with an error body", `{"error":{"message":"bad key","code":"invalid_api_key"}}`,
			lines("error bad key (auth)"),
		},
		{
			"event: error", "event: error\ndata: {\"message\":\"boom\"}\n\n", lines("error boom (overloaded)"),
		},
		{
			"finish reason error", stream(says(`{"content":"hi"}`), ends("error")),
			lines(append(textHi, "error the provider ended the answer with finish reason error (overloaded)")...),
		},
		{
			"filtered with nothing said", stream(ends("content_filter")),
			lines("opened req-1", "error the provider's content filter refused the request (content-filter)"),
		},
		{
			"invalid images become notes and do not affect other content",
			stream(
				says(
					`{"content":"hi","images":[{"image_url":null},{"image_url":7},`+
						`5,null,{"image_url":{"url":"data:image/png;base64,?"}}]}`,
				),
				says(`{"images":[{"image_url":{"url":"https://example.org/a.png"}}]}`), ends("stop"), done,
			),
			lines("opened req-1", "text-start text-0", `text-delta text-0 "hi"`,
				strings.Repeat(`text-delta text-0 "\n[the model sent a picture, which cannot be shown]"`+"\n", 5)+
					`text-delta text-0 "\n[the model sent a picture: https://example.org/a.png]"`,
				"text-end text-0", "finish stop"+noUsage),
		},
		{
			"what has another type than it should is as if it were not there",
			stream(
				`{"id":5,"choices":[7,null,{"index":"0","delta":5},{"index":0,"delta":{"content":[null,5,{"type":5,"text":"h"},`+
					`{"thinking":{}}],"tool_calls":{},"images":"x","function_call":[]}}],"x_groq":"a","copilot_usage":[1]}`,
				says(`{"content":"i","tool_calls":[null,"x",{"index":1.5,"id":"a","function":5}],"images":{}}`),
				says(`{"tool_calls":[{"index":"x","id":"a","function":{"name":"f","arguments":"{}"}}],"reasoning_details":[5]}`),
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+
					`"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":[],"completion_tokens_details":"x"}}`,
				done,
			),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`, "text-end text-0",
				"input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}",
				"finish tool-calls in=3 out=2 reasoning=0 read=0 write=0 total=0",
			),
		},
		{
			"thinking as a text",
			stream(says(`{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"}]}`), ends("stop"), done),
			lines(
				"opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "reasoning-end reasoning-0",
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"no finish reason, but usage and DONE",
			stream(
				says(`{"content":"hi"}`),
				`{"choices":[{"index":0,"delta":{},"finish_reason":""}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, done,
			),
			lines(append(textHi, "finish stop in=3 out=1 reasoning=0 read=0 write=0 total=0")...),
		},
		{
			"no finish reason, and DONE alone", stream(says(`{"content":"hi"}`), done),
			lines(append(textHi[:3:3], "text-end text-0", "finish unknown"+noUsage)...),
		},
		{
			"usage after DONE", stream(
				says(`{"content":"hi"}`), ends("stop"), done, `{"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
			),
			lines(append(textHi[:3:3], "text-end text-0", "finish stop in=3 out=1 reasoning=0 read=0 write=0 total=0")...),
		},
		{
			"usage as text", stream(
				says(`{"content":"hi"}`), ends("stop"), `{"usage":"{\"prompt_tokens\":3,\"completion_tokens\":1}"}`, done,
			),
			lines(append(textHi[:3:3], "text-end text-0", "finish stop in=3 out=1 reasoning=0 read=0 write=0 total=0")...),
		},
		{
			"calls announced and missing", stream(says(`{"content":"hi"}`), ends("tool_calls"), done),
			lines(append(textHi[:3:3], "text-end text-0",
				"error the provider announced a tool call and sent none (malformed)")...),
		},
		{
			"a call as text", stream(says(`{"content":"I will.\n<tool_call>\n{}\n</tool_call>"}`), ends("stop"), done),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "I will.\n<tool_call>\n{}\n</tool_call>"`,
				"text-end text-0",
				"error the model wrote a tool call as text, and its server did not read it as a call (malformed)",
			),
		},
		{
			"a call in another choice", stream(
				says(`{"content":"hi"}`), `{"choices":[{"index":1,"finish_reason":"tool_calls","delta":{"tool_calls":[{"index":0,`+
					`"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`, ends("tool_calls"), done,
			),
			lines(append(textHi[:3:3], "text-end text-0", "input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}",
				"finish tool-calls"+noUsage)...),
		},
		{
			"a refusal with the status of a success", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`,
			lines("error insufficient balance (quota)"),
		},
		{
			"a refusal in a frame", stream(`{"success":false,"message":"model is offline"}`),
			lines("error model is offline (overloaded)"),
		},
		{
			"no finish reason, and usage alone",
			stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "hi"`,
				"error the answer ended without a finish marker (incomplete)",
			),
		},
		{
			"a whole answer without a finish reason",
			`{"choices":[{"index":0,"message":{"content":"","tool_calls":[{"id":"a","function":{"name":"f",` +
				`"arguments":"{}"}}],"function_call":{"name":"","arguments":""}},` +
				`"finish_reason":""}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
			lines(
				"opened req-1", "input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}",
				"finish tool-calls in=3 out=1 reasoning=0 read=0 write=0 total=0",
			),
		},
		{
			"an error in a field of its own",
			"data: " + says(`{"content":"hi"}`) + "\n\nerror: {\"error\":{\"code\":500,\"message\":\"failed to decode\"}}\n\n",
			lines(append(textHi[:3:3], "error failed to decode (overloaded, HTTP 500)")...),
		},
		{
			"more thoughts than answer are beside it",
			stream(
				says(`{"content":"hi"}`), ends("stop"),
				`{"usage":{"prompt_tokens":61,"completion_tokens":10,"total_tokens":71,`+
					`"completion_tokens_details":{"reasoning_tokens":96}}}`,
				done,
			),
			lines(append(textHi, "finish stop in=61 out=106 reasoning=96 read=0 write=0 total=71")...),
		},
		{
			"cached input beside the rest",
			stream(
				says(`{"content":"hi"}`), ends("stop"),
				`{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,`+
					`"prompt_tokens_details":{"cached_tokens":161}}}`,
				done,
			),
			lines(append(textHi, "finish stop in=171 out=5 reasoning=0 read=161 write=0 total=15")...),
		},
		{
			"not JSON", stream(`{"choices":[`),
			lines("error the provider sent a frame that is not a Chat chunk: {\"choices\":[ (malformed)"),
		},
		{
			"wrong shape", stream(`{"choices":"no"}`),
			lines("error the provider sent a frame that is not a Chat chunk: {\"choices\":\"no\"} (malformed)"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 3, 1 << 20} {
				got := events(openaichat.Dialect{}, &llmtest.SlowReader{Text: tt.body, Step: n})
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("reads of %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestDecodeCalls(t *testing.T) {
	start := "opened req-1"
	ended := "finish tool-calls" + noUsage
	tests := []struct {
		name   string
		frames []string
		want   []string
	}{
		{
			"interleaved, text first",
			[]string{
				says(`{"content":"hi"}`),
				says(
					`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}},` +
						`{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}`,
				),
				says(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`),
				says(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}`), ends("stop"),
			},
			[]string{
				start, "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "input-start a f", "input-start b g",
				`input-delta b "{"`, `input-delta a "{\"x\":1}"`, `input-delta b "}"`, "input-end a", `call a f {"x":1}`,
				"input-end b", "call b g {}", ended,
			},
		},
		{
			"no arguments is an empty object",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`), ends("tool_calls")},
			[]string{start, "input-start a f", "input-end a", "call a f {}", ended},
		},
		{
			"invalid arguments are reported and not fatal",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{\"x\":"`, "input-end a",
				`call a f INVALID the arguments are not valid JSON: unexpected EOF at byte 5: "{\"x\":"`, ended,
			},
		},
		{
			"arguments that are no object",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "[1]"`, "input-end a",
				`call a f INVALID the arguments must be a JSON object: "[1]"`, ended,
			},
		},
		{
			"arguments sent as an object",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), ends("tool_calls"),
			},
			[]string{start, "input-start a f", `input-delta a "{\"x\":1}"`, "input-end a", `call a f {"x":1}`, ended},
		},
		{
			"arguments quoted twice",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}\""}}]}`),
				ends("tool_calls"),
			},
			[]string{start, "input-start a f", `input-delta a "\"{\\\"x\\\":1}\""`, "input-end a", `call a f {"x":1}`, ended},
		},
		{
			"repeated id under two indexes, id repeated in later pieces",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`),
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}`),
				says(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{"`, `input-delta a "}"`, "input-start call_NEW_1 f",
				`input-delta call_NEW_1 "{}"`, "input-end a", "call a f {}", "input-end call_NEW_1", "call call_NEW_1 f {}", ended,
			},
		},
		{
			"all calls under index 0, with their own ids",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`),
				says(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{}"`, "input-start b g", `input-delta b "{}"`,
				"input-end a", "call a f {}", "input-end b", "call b g {}", ended,
			},
		},
		{
			"no index, no id",
			[]string{
				says(`{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}`),
				says(`{"tool_calls":[{"function":{"arguments":"}"}}]}`),
				says(`{"tool_calls":[{"function":{"name":"g","arguments":"{}"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start call_NEW_0 f", `input-delta call_NEW_0 "{"`, `input-delta call_NEW_0 "}"`,
				"input-start call_NEW_1 g", `input-delta call_NEW_1 "{}"`,
				"input-end call_NEW_0", "call call_NEW_0 f {}", "input-end call_NEW_1", "call call_NEW_1 g {}", ended,
			},
		},
		{
			"the name comes after the first arguments",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}`),
				says(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}`), ends("tool_calls"),
			},
			[]string{start, "input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}", ended},
		},
		{
			"the name never comes",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`), ends("tool_calls")},
			[]string{
				start, "input-start a invalid", `input-delta a "{}"`, "input-end a",
				`call a invalid INVALID the call does not name a tool: "{}"`, ended,
			},
		},
		{
			"what a vendor attaches to a call",
			[]string{
				says(
					`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"g":{"s":"x"}}}]}`,
				),
				ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{}"`, "input-end a",
				`call a f {} openaiCompatible={"extra_content":{"g":{"s":"x"}}}`, ended,
			},
		},
		{
			"cut off by length: the complete call is valid, the broken one is reported",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), ends("length")},
			[]string{start, "input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}", "finish length" + noUsage},
		},
		{
			"cut off by a filter: not to be run",
			[]string{
				says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), ends("content_filter"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{}"`, "input-end a",
				`call a f INVALID the provider's content filter cut the answer off, so this call was not run: "{}"`,
				"finish content-filter" + noUsage,
			},
		},
		{
			"an id that is too long for one",
			[]string{
				says(
					`{"tool_calls":[{"index":0,"id":"` + strings.Repeat("i", 300) + `","function":{"name":"f","arguments":"{}"}}]}`,
				),
				ends("tool_calls"),
			},
			[]string{
				start, "input-start call_NEW_0 f", `input-delta call_NEW_0 "{}"`, "input-end call_NEW_0", `call call_NEW_0 f {}`,
				"finish tool-calls" + noUsage,
			},
		},
		{
			"cut off at the output limit before the arguments",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`), ends("length")},
			[]string{
				start, "input-start a f", "input-end a",
				`call a f INVALID the answer reached its output limit before the arguments of this call, so it was not run: ""`,
				"finish length" + noUsage,
			},
		},
		{
			"complete arguments, no reason for the end",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), done},
			[]string{
				start, "input-start a f", `input-delta a "{}"`, "input-end a", "call a f {}", "finish unknown" + noUsage,
			},
		},
		{
			"incomplete arguments, no reason for the end",
			[]string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), done},
			[]string{
				start, "input-start a f", `input-delta a "{"`, "error the answer ended without a finish marker (incomplete)",
			},
		},
		{
			"two calls with one id and no index",
			[]string{
				says(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
				says(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}]}`), ends("tool_calls"),
			},
			[]string{
				start, "input-start a f", `input-delta a "{\"x\":1}"`, "input-start call_NEW_1 f",
				`input-delta call_NEW_1 "{\"x\":2}"`, "input-end a", `call a f {"x":1}`, "input-end call_NEW_1",
				`call call_NEW_1 f {"x":2}`, "finish tool-calls" + noUsage,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := events(openaichat.Dialect{}, strings.NewReader(stream(tt.frames...)))
			got = newID.ReplaceAllString(got, "call_NEW_$1")
			if diff := cmp.Diff(lines(tt.want...), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeUsage(t *testing.T) {
	tests := []struct{ name, usage, want string }{
		{
			"cached and reasoning",
			`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":80},` +
				`"completion_tokens_details":{"reasoning_tokens":30}}`,
			"in=100 out=50 reasoning=30 read=80 write=0 total=150",
		},
		{
			"reasoning beside the completion",
			`{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,` +
				`"completion_tokens_details":{"reasoning_tokens":30}}`,
			"in=100 out=50 reasoning=30 read=0 write=0 total=150",
		},
		{
			"more reasoning than completion",
			`{"prompt_tokens":10,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":30}}`,
			"in=10 out=30 reasoning=30 read=0 write=0 total=0",
		},
		{
			"deepseek", `{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8}`,
			"in=10 out=2 reasoning=0 read=8 write=0 total=0",
		},
		{
			"together", `{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":4}`,
			"in=10 out=2 reasoning=0 read=4 write=0 total=0",
		},
		{
			"cache writes",
			`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":5}}`,
			"in=10 out=2 reasoning=0 read=3 write=5 total=0",
		},
		{
			"negative", `{"prompt_tokens":-5,"completion_tokens":2,"total_tokens":-3}`,
			"in=0 out=2 reasoning=0 read=0 write=0 total=0",
		},
		{
			"overflow",
			`{"prompt_tokens":99999999999999999999999999,"completion_tokens":9223372036854775807,"total_tokens":1e300}`,
			"in=0 out=0 reasoning=0 read=0 write=0 total=0",
		},
		{
			"more cached than sent",
			`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9}}`,
			"in=5 out=1 reasoning=0 read=5 write=0 total=0",
		},
		{
			"floats and strings", `{"prompt_tokens":5.0,"completion_tokens":"7","total_tokens":null}`,
			"in=5 out=7 reasoning=0 read=0 write=0 total=0",
		},
		{"not an object", `"many"`, "in=0 out=0 reasoning=0 read=0 write=0 total=0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := stream(says(`{"content":"hi"}`), ends("stop"), `{"choices":[],"usage":`+tt.usage+`}`, done)
			got := events(openaichat.Dialect{}, strings.NewReader(body))
			if !strings.HasSuffix(got, "finish stop "+tt.want+"\n") {
				t.Errorf("want %s in\n%s", tt.want, got)
			}
		})
	}
}

// What a failed answer used is known if the provider said so.
func TestDecodeUsageOfFailures(t *testing.T) {
	usage := `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10}}`
	for name, body := range map[string]string{
		"empty":    stream(ends("stop"), usage, done),
		"filtered": stream(ends("content_filter"), usage, done),
		"error":    stream(says(`{"content":"hi"}`), ends("error"), usage, done),
		"in band":  stream(says(`{"content":"hi"}`), usage, `{"error":{"code":529,"message":"overloaded"}}`),
	} {
		var failure *llm.Error
		for _, err := range (openaichat.Dialect{}).Decode("", strings.NewReader(body)) {
			failure, _ = errors.AsType[*llm.Error](err)
		}
		if failure == nil || failure.Usage == nil || failure.Usage.Input != 100 || failure.Usage.Output != 10 {
			t.Errorf("%s: %+v", name, failure)
		}
	}
}

func TestDecodeBounds(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(
			many, says(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"i%d","function":{"name":"f","arguments":"{}"}}]}`, i, i)),
		)
	}
	long := strings.Repeat("x", 1<<20)
	endless := []string{says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\""}}]}`)}
	for range 9 {
		endless = append(endless, says(`{"tool_calls":[{"index":0,"function":{"arguments":"`+long+`"}}]}`))
	}
	endless = append(endless, says(`{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`), ends("tool_calls"))
	tests := []struct {
		name string
		body io.Reader
		want string
	}{
		{"arguments without end", strings.NewReader(stream(endless...)), "more than 8 MiB of arguments"},
		{"too many calls", strings.NewReader(stream(append(many, ends("tool_calls"))...)), "more than 256 tool calls"},
		{
			"a name without end",
			strings.NewReader(
				stream(
					says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"`+long+`","arguments":"{}"}}]}`), ends("tool_calls"),
				),
			),
			"a tool's name of more than 256 bytes",
		},
		{
			"a line without end", io.MultiReader(strings.NewReader("data: "), io.LimitReader(zeros{}, 100<<20)),
			"a frame of more than 32 MiB",
		},
		{
			"a document without end", io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(zeros{}, 100<<20)),
			"more than 32 MiB in one piece",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var last *llm.Error
			for e, err := range (openaichat.Dialect{}).Decode("", tt.body) {
				if _, ok := e.(llm.ToolCallEvent); ok {
					t.Fatal("a call was given out")
				}
				last, _ = errors.AsType[*llm.Error](err)
			}
			if last == nil || last.Class != llm.Malformed || !strings.Contains(last.Message, tt.want) {
				t.Errorf("got %v", last)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestDecodeReaderErrors(t *testing.T) {
	silence := &llm.Error{Class: llm.Timeout, Phase: llm.PhaseSilence, Message: "silent"}
	aborted := &llm.Error{Class: llm.Aborted, Message: "stopped"}
	half, whole := stream(says(`{"content":"hi"}`)), stream(says(`{"content":"hi"}`), ends("stop"))
	tests := []struct {
		name string
		body string
		err  error
		want llm.Class // empty for a good end
	}{
		{"reset", half, errors.New("connection reset"), llm.Transport},
		{"unexpected EOF", half, io.ErrUnexpectedEOF, llm.Transport},
		{"silence", half, silence, llm.Timeout},
		{"interrupted", half, aborted, llm.Aborted},
		{"reset before anything", "", errors.New("connection reset"), llm.Transport},
		{"reset after the finish marker", whole, errors.New("connection reset"), ""},
		{"silence after the finish marker", whole, silence, ""},
		{"interrupted after the finish marker", whole, aborted, llm.Aborted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got llm.Class
			finished := false
			for e, err := range (openaichat.Dialect{}).Decode(
				"", io.MultiReader(strings.NewReader(tt.body), iotest.ErrReader(tt.err)),
			) {
				if failure, ok := errors.AsType[*llm.Error](err); ok {
					got = failure.Class
				}
				_, isFinish := e.(llm.Finish)
				finished = finished || isFinish
			}
			if got != tt.want || finished != (tt.want == "") {
				t.Errorf("class %q, finished %v", got, finished)
			}
		})
	}
}

func TestDecodeUnended(t *testing.T) {
	llmtest.CheckUnended(t, decode(openaichat.Dialect{}), stream(says(`{"content":"hi"}`), ends("stop")))
}

func TestDecodeStopsWhenAsked(t *testing.T) {
	llmtest.CheckStop(
		t, decode(openaichat.Dialect{}),
		stream(
			says(`{"reasoning_content":"a"}`), says(`{"content":"hi"}`),
			says(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`), ends("stop"),
		),
	)
}

// FuzzDecode checks the promises of a stream on any bytes: the order of events, valid text, one end.
func FuzzDecode(f *testing.F) {
	for _, x := range llmtest.LoadRecordings(f) {
		f.Add(x.Response, 5)
	}
	f.Add(stream(says(`{"content":"\ud83d"}`), says(`{"content":"\ude00"}`)), 1)
	f.Add(stream(says(`{"tool_calls":[{"function":{"arguments":{}}}]}`), ends("stop")), 2)
	f.Fuzz(func(t *testing.T, body string, step int) {
		llmtest.CheckSplit(t, decode(openaichat.Dialect{}), body, step)
	})
}

func BenchmarkDelta(b *testing.B) {
	const deltas = 2000
	var sb strings.Builder
	for range deltas {
		sb.WriteString(
			`data: {"id":"chatcmpl-DcLQhErGVsn8x3hNFmX5A0yM0T9Km","object":"chat.completion.chunk","created":1778031211,` +
				`"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_57133166c6",` +
				`"choices":[{"index":0,"delta":{"content":" sunny"},"logprobs":null,"finish_reason":null}],` +
				`"usage":null,"obfuscation":"irmMg"}` + "\n\n",
		)
	}
	body := sb.String() + stream(ends("stop"), done)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range (openaichat.Dialect{}).Decode("", strings.NewReader(body)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
}
