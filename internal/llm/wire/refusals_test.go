package wire_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// TestRefusals classifies refusals in the words of many vendors and servers.
func TestRefusals(t *testing.T) {
	data, err := os.ReadFile("testdata/refusals.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		want, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, body, _ := strings.Cut(rest, " ")
		status, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		e := wire.ClassifyFailure(wire.Failure{Status: status, Body: []byte(body)})
		if string(e.Class) != want {
			t.Errorf("HTTP %d %s: %s, want %s", status, body, e.Class, want)
		}
		if e.Class == llm.Quota && e.IsRetryable() {
			t.Errorf("%s would be tried again", body)
		}
	}
}

// TestWindowOfRefusal: the numbers of a refusal show the window, unless they are a limit per minute or not in tokens.
func TestWindowOfRefusal(t *testing.T) {
	for message, want := range map[string]int64{
		"prompt is too long: 210000 tokens > 200000 maximum":                                               200_000,
		"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000":                      200_000,
		"maximum context length is 8192 tokens. However, you requested 9000 (5000 in the messages)":        8192,
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length":              32_768,
		"The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).":      1_048_576,
		"context length exceeded: 50211 > 40960":                                                           40_960,
		"the prompt of 140k tokens exceeds 128k":                                                           128_000,
		"total number of tokens in the prompt cannot exceed 2000 - received 9000":                          4096,
		"Your request exceeded model token limit: 8192":                                                    0,
		"Request too large on tokens per min (TPM): Limit 30000, Requested 41222":                          0,
		"Malformed input request: expected maxLength: 400000, actual: 500000":                              0,
		"prompt is too long: 9000 tokens. This model's maximum context length is 32768 tokens":             0,
		"max_tokens is too large: 99999. This model supports at most 16384 completion tokens":              0,
		"prompt is too long, max_tokens 8192: the context length is 8192 tokens and the input 3000 tokens": 0,
	} {
		e := wire.ClassifyFailure(wire.Failure{Status: 400, Body: []byte(`{"error":{"message":"` + message + `"}}`)})
		if e.Window != want {
			t.Errorf("%q: %d, want %d", message, e.Window, want)
		}
	}
}

// TestNestedReason: the reason is read wherever an envelope holds it, and what repeats the request is not.
func TestNestedReason(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"schema is ` +
			`invalid\"}}","provider_name":"Anthropic"}}}`: "Provider returned error: schema is invalid (Anthropic)",
		`{"error":{"message":"Provider said","metadata":{"raw":"upstream is tired"}}}`: "Provider said: upstream is tired",
		`{"base_resp":{"status_code":1013,"status_msg":"it broke"}}`:                   "it broke",
		`{"success":false,"message":"model is offline"}`:                               "model is offline",
		`{"message":{"detail":[{"msg":"not permitted","loc":["body","messages",3]}]}}`: "not permitted (at body.messages.3)",
		`{"error":"{\"detail\":\"bad\"}"}`:                                             "bad",
		`[{"error":{"message":"first"}}]`:                                              "first",
	} {
		e := wire.ClassifyFailure(wire.Failure{Status: 400, Body: []byte(body)})
		if e.Message != want {
			t.Errorf("%s: %q, want %q", body, e.Message, want)
		}
	}
}
