package gemini_test

import (
	"errors"
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
		out.WriteString("data: " + f + "\r\n\r\n")
	}
	return out.String()
}

// says is a frame with those parts.
func says(parts string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"index":0}],"responseId":"r"}`
}

// ends is a frame with the finish reason.
func ends(reason string) string {
	return `{"candidates":[{"finishReason":"` + reason + `","index":0}]}`
}

const noUsage = " in=0 out=0 reasoning=0 read=0 write=0 total=0"

func TestDecode(t *testing.T) {
	hi := []string{"opened req-1", "text-start text-0", `text-delta text-0 "hi"`, "text-end text-0"}
	tests := []struct{ name, body, want string }{
		{
			"text", stream(says(`{"text":"h"}`), says(`{"text":"i"}`), ends("STOP")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "h"`, `text-delta text-0 "i"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{
			"a list instead of a stream", "[" + says(`{"text":"hi"}`) + ",\n" + ends("STOP") + "]",
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"a whole answer", `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`,
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"thoughts, and a signature that comes with an empty text",
			stream(
				says(`{"text":"hm","thought":true}`), says(`{"text":"hi"}`), says(`{"text":"","thoughtSignature":"s"}`),
				ends("STOP"),
			),
			lines("opened req-1", "reasoning-start reasoning-0", `reasoning-delta reasoning-0 "hm"`, "reasoning-end reasoning-0",
				"text-start text-0", `text-delta text-0 "hi"`, `text-end text-0 google={"thoughtSignature":"s"}`, "finish stop"+
					noUsage),
		},
		{
			"a signature ends its part",
			stream(says(`{"text":"a","thoughtSignature":"s"},{"text":"b","thoughtSignature":"t"}`), ends("STOP")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "a"`, `text-end text-0 google={"thoughtSignature":"s"}`,
				"text-start text-1", `text-delta text-1 "b"`, `text-end text-1 google={"thoughtSignature":"t"}`,
				"finish stop"+noUsage,
			),
		},
		{
			"calls, without ids and with",
			stream(
				says(`{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"s"},{"functionCall":{"name":"f"}}`),
				says(`{"functionCall":{"id":"a","name":"g","args":{}}}`), ends("STOP"),
			),
			lines(
				"opened req-1", "input-start call_bdohib5v_0 f", `input-delta call_bdohib5v_0 "{\"x\":1}"`,
				"input-end call_bdohib5v_0",
				"input-start call_bdohib5v_1 f", "input-end call_bdohib5v_1", "input-start a g", `input-delta a "{}"`,
				"input-end a",
				`call call_bdohib5v_0 f {"x":1} google={"thoughtSignature":"s"}`, "call call_bdohib5v_1 f {}",
				`call a g {} google={"callId":"a"}`, "finish tool-calls"+noUsage,
			),
		},
		{
			"an invalid call", stream(says(`{"functionCall":{"args":[1]}}`), ends("STOP")),
			lines(
				"opened req-1", "input-start call_bdohib5v_0 invalid", `input-delta call_bdohib5v_0 "[1]"`,
				"input-end call_bdohib5v_0",
				`call call_bdohib5v_0 invalid INVALID the call does not name a tool: "[1]"`, "finish tool-calls"+noUsage,
			),
		},
		{
			"code that the vendor ran",
			stream(
				says(
					`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"x"},`+
						`{"codeExecutionResult":{"outcome":"OUTCOME_FAILED","output":"o"},"thoughtSignature":"y"},{"text":"hi"}`,
				),
				ends("STOP"),
			),
			lines(
				"opened req-1", "input-start call_bdohib5v_0 code_execution",
				`input-delta call_bdohib5v_0 "{\"language\":\"PYTHON\",\"code\":\"1\"}"`, "input-end call_bdohib5v_0",
				`hosted call_bdohib5v_0 code_execution {"language":"PYTHON",`+
					`"code":"1"} google={"part":{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"x"}}`,
				`failed call_bdohib5v_0 code_execution {"outcome":"OUTCOME_FAILED",`+
					`"output":"o"} google={"part":{"codeExecutionResult":{"outcome":"OUTCOME_FAILED","output":"o"},`+
					`"thoughtSignature":"y"}}`,
				"text-start text-0", `text-delta text-0 "hi"`, "text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"what a tool of the vendor's was asked and found, beside a call",
			stream(
				says(`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"s1"},"thoughtSignature":"x"}`),
				says(
					`{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"r":1},"id":"s1"}},`+
						`{"functionCall":{"id":"a","name":"g"},"thoughtSignature":"y"}`,
				),
				ends("STOP"),
			),
			lines("opened req-1", "input-start s1 google_search_web", `input-delta s1 "{\"queries\":[\"q\"]}"`, "input-end s1",
				`hosted s1 google_search_web {"queries":["q"]} google={"part":{"thoughtSignature":"x",`+
					`"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"s1"}}}`,
				`returned s1 google_search_web {"toolType":"GOOGLE_SEARCH_WEB","response":{"r":1},`+
					`"id":"s1"} google={"part":{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"r":1},"id":"s1"}}}`,
				"input-start a g", "input-end a", `call a g {} google={"callId":"a","thoughtSignature":"y"}`, "finish tool-calls"+
					noUsage),
		},
		{
			"a result without a call", stream(says(`{"toolResponse":{"id":"s1"}},{"text":"hi"}`), ends("STOP")),
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"what a search found goes with the text",
			stream(
				`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"groundingMetadata":{"webSearchQueries":["q"]},` +
					`"finishReason":"STOP"}]}`,
			),
			lines(
				append(
					hi[:3:3], `text-end text-0 google={"groundingMetadata":{"webSearchQueries":["q"]}}`, "finish stop"+noUsage,
				)...,
			),
		},
		{
			"pictures are results of a call",
			stream(
				says(`{"text":"hi"}`), says(`{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"},"thoughtSignature":"s"}`),
				says(`{"thought":true,"inlineData":{"mimeType":"image/png","data":"cGl4"}}`), ends("STOP"),
			),
			lines(
				append(
					hi, "input-start call_bdohib5v_0 image_generation", `input-delta call_bdohib5v_0 "{}"`,
					"input-end call_bdohib5v_0",
					`hosted call_bdohib5v_0 image_generation {} google={"picture":true,"thoughtSignature":"s"}`,
					`returned image/png(6 bytes) call_bdohib5v_0 image_generation {} google={"picture":true,"thoughtSignature":"s"}`,
					"finish stop"+noUsage,
				)...,
			),
		},
		{
			"invalid images become notes", stream(says(`{"inlineData":{"mimeType":"image/png","data":"?"}}`), ends("STOP")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "[the model sent \"image/png\", which cannot be shown]"`,
				"text-end text-0", "finish stop"+noUsage,
			),
		},
		{
			"invalid media becomes a note and does not affect other content",
			stream(
				says(
					`{"text":"hi"},{"inlineData":5},null,{"inlineData":{"mimeType":7,"data":null}},`+
						`{"fileData":{"mimeType":"image/png","fileUri":"https://example.org/a.png"}}`,
				),
				ends("STOP"),
			),
			lines(
				hi[0], hi[1], hi[2], `text-delta text-0 "\n[the model sent something, which cannot be shown]"`,
				`text-delta text-0 "\n[the model sent something, which cannot be shown]"`,
				`text-delta text-0 "\n[the model sent \"image/png\": https://example.org/a.png]"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{
			"what has another type than it should is as if it were not there",
			stream(
				`{"responseId":[],"promptFeedback":"x","candidates":[5,{"index":"0","content":5},{"content":{"parts":5}},`+
					`{"content":{"parts":["x",{"text":5,"thought":"no"},{"text":"hi","thought":null,"thoughtSignature":7}]},`+
					`"finishReason":7,"groundingMetadata":[]}]}`,
				`{"candidates":[{"finishReason":"STOP","finishMessage":{}}],`+
					`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":"x"}}`,
			),
			lines(hi[0], hi[1], hi[2], hi[3], "finish stop in=3 out=0 reasoning=0 read=0 write=0 total=0"),
		},
		{
			"another shape", stream(`{"candidates":"no"}`),
			lines(`error the provider sent a frame that is not a Gemini response: {"candidates":"no"} (malformed)`),
		},
		{
			"usage, the last report",
			stream(
				`{"candidates":[{"content":{"parts":[{"text":"hi"}]}}],"usageMetadata":{"promptTokenCount":1}}`, ends("STOP"),
				`{"usageMetadata":{"promptTokenCount":100,"toolUsePromptTokenCount":5,"candidatesTokenCount":7,`+
					`"thoughtsTokenCount":3,"cachedContentTokenCount":90,"totalTokenCount":115}}`,
			),
			lines(append(hi, "finish stop in=105 out=10 reasoning=3 read=90 write=0 total=115")...),
		},
		{
			"a surrogate pair split over frames", stream(says(`{"text":"a\ud83d"}`), says(`{"text":"\ude00b"}`), ends("STOP")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "a"`, `text-delta text-0 "😀b"`, "text-end text-0",
				"finish stop"+noUsage,
			),
		},
		{"length", stream(says(`{"text":"hi"}`), ends("MAX_TOKENS")), lines(append(hi, "finish length"+noUsage)...)},
		{"length with nothing said", stream(ends("MAX_TOKENS")), lines("opened req-1", "finish length"+noUsage)},
		{"filtered", stream(says(`{"text":"hi"}`), ends("SAFETY")), lines(append(hi, "finish content-filter"+noUsage)...)},
		{
			"filtered with nothing said", stream(ends("PROHIBITED_CONTENT")),
			lines(
				"opened req-1", "error the provider's content filter refused the request (PROHIBITED_CONTENT) (content-filter)",
			),
		},
		{
			"the prompt refused", stream(`{"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":3}}`),
			lines("opened req-1", "error the provider refused the request (OTHER) (content-filter)"),
		},
		{
			"a garbled call", stream(says(`{"text":"hi"}`), ends("MALFORMED_FUNCTION_CALL")),
			lines(
				append(
					hi, "error the provider could not read a tool call that the model made (MALFORMED_FUNCTION_CALL) (malformed)",
				)...,
			),
		},
		{"unknown finish", stream(says(`{"text":"hi"}`), ends("LANGUAGE")), lines(append(hi, "finish unknown"+noUsage)...)},
		{
			"a call of a filtered answer", stream(says(`{"functionCall":{"name":"f"}}`), ends("SPII")),
			lines(
				"opened req-1", "input-start call_bdohib5v_0 f", "input-end call_bdohib5v_0",
				`call call_bdohib5v_0 f INVALID the provider's content filter cut the answer off, so this call was not run: ""`,
				"finish content-filter"+noUsage,
			),
		},
		{
			"other candidates are ignored",
			stream(
				`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}}]}`, says(`{"text":"hi"}`), ends("STOP"),
				`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}}]}`,
			),
			lines(append(hi, "finish stop"+noUsage)...),
		},
		{
			"a finish reason before the text",
			stream(ends("STOP"), says(`{"text":"hi"}`), ends("MAX_TOKENS"), ends("FINISH_REASON_UNSPECIFIED")),
			lines(append(hi, "finish length"+noUsage)...),
		},
		{
			"a call after the finish reason",
			stream(says(`{"text":"hi"}`), ends("STOP"), says(`{"functionCall":{"id":"a","name":"g"}}`)),
			lines(
				append(hi, "input-start a g", "input-end a", `call a g {} google={"callId":"a"}`, "finish tool-calls"+noUsage)...,
			),
		},
		{
			"well-formed and empty", stream(says(`{"text":""}`), ends("STOP")),
			lines("opened req-1", "error the provider sent an answer without text, reasoning or tool calls (empty)"),
		},
		{
			"nothing but white space", stream(says(`{"text":"\n \n"}`), ends("STOP")),
			lines(
				"opened req-1", "text-start text-0", `text-delta text-0 "\n \n"`, "text-end text-0",
				"error the provider sent an answer without text, reasoning or tool calls (empty)",
			),
		},
		{"nothing at all", "", lines("error the provider accepted the request but sent no answer (empty)")},
		{
			"no finish reason but DONE", stream(says(`{"text":"hi"}`), "[DONE]"),
			lines(append(hi[:3:3], "text-end text-0", "finish unknown in=0 out=0 reasoning=0 read=0 write=0 total=0")...),
		},
		{
			"no finish reason", stream(says(`{"text":"hi"}`)),
			lines(append(hi[:3:3], "error the answer ended without a finish marker (incomplete)")...),
		},
		{
			"an error in the stream",
			stream(says(`{"text":"hi"}`), `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`),
			lines(append(hi[:3:3], "error busy (overloaded, HTTP 503)")...),
		},
		{
			"200 with a list of errors",
			`[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3s"}]}}]`,
			lines("error slow down (rate-limit, HTTP 429)"),
		},
		{
			"web page", "<html>",
			lines(
				"error the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or " +
					"login page (malformed)",
			),
		},
		{
			"not JSON", stream(`{"candidates":`),
			lines(`error the provider sent a frame that is not a Gemini response: {"candidates": (malformed)`),
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

func TestDecodeBounds(t *testing.T) {
	var calls strings.Builder
	for range 300 {
		calls.WriteString(stream(says(`{"functionCall":{"name":"f"}}`)))
	}
	for body, want := range map[string]string{
		calls.String(): "more than 256 tool calls",
		stream(says(`{"functionCall":{"name":"` + strings.Repeat("n", 300) + `"}}`)): "a tool's name of more than",
	} {
		var last error
		for _, err := range decode(strings.NewReader(body)) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("got %v, want %s", last, want)
		}
	}
}

func TestDecodeReaderErrors(t *testing.T) {
	half := stream(says(`{"text":"hi"}`))
	llmtest.CheckBrokenConnection(t, decode, half, half+stream(ends("STOP")))
}

func TestDecodeUnended(t *testing.T) {
	llmtest.CheckUnended(t, decode, stream(says(`{"text":"hi"}`), ends("STOP")))
}

func TestDecodeStopsWhenAsked(t *testing.T) {
	llmtest.CheckStop(
		t, decode, stream(says(`{"text":"a"},{"functionCall":{"name":"f"}}`), says(`{"executableCode":{}}`), ends("STOP")),
	)
}

func TestDecodeChargesFailures(t *testing.T) {
	body := stream(`{"usageMetadata":{"promptTokenCount":7}}`, `{"error":{"code":500}}`)
	for _, err := range decode(strings.NewReader(body)) {
		if e, ok := errors.AsType[*llm.Error](err); ok && (e.Usage == nil || e.Usage.Input != 7) {
			t.Errorf("used %+v", e.Usage)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, x := range llmtest.LoadRecordings(f) {
		f.Add(x.Response, 7)
	}
	f.Add(
		stream(
			says(`{"executableCode":{"code":"1"}},{"codeExecutionResult":{}},{"text":"a\ud83d","thought":true}`), ends("STOP"),
		),
		1,
	)
	f.Add(
		stream(
			says("{\"executableCode\":{\"c\x88\":1,\"a\":1,\"a\":2}},{\"codeExecutionResult\":{\"a\":{\"b\":1,\"b\":2}}}"),
			ends("STOP"),
		),
		1,
	)
	f.Add("["+says(`{"functionCall":{"name":"f","args":1}}`)+","+ends("SAFETY")+"]", 3)
	f.Fuzz(func(t *testing.T, body string, step int) { llmtest.CheckSplit(t, decode, body, step) })
}
