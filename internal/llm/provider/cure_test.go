package provider_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

// TestCures: a refusal that names a part of the request is retried once without it, and later requests leave it out.
func TestCures(t *testing.T) {
	for _, c := range []struct {
		name, refused string // the text of the request that the server refuses, "!" begins one that it misses
		status        int
		message       string
	}{
		{"stream options", `"stream_options"`, 400, "Unrecognized request argument supplied: stream_options"},
		{"stream options, validated", `"stream_options"`, 422, "body.stream_options: Extra inputs are not permitted"},
		{"missing reasoning", `!"reasoning_content":""`, 400, "Missing reasoning_content field at message index 2"},
		{"reasoning not sent back", `!"reasoning_content":""`, 400, "The reasoning_content must be passed back to the API."},
		{"tools", `"tools"`, 400, "registry.ollama.ai/library/x does not support tools"},
		{"tool choice", `"tools"`, 400, `\"auto\" tool choice requires --enable-auto-tool-choice`},
		{"tools elsewhere", `"tools"`, 404, "No endpoints found that support tool use"},
		{"max_tokens", `"max_tokens"`, 400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead."},
		{"system", `"role":"system"`, 500, "Jinja Exception: System role not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				body, _ := io.ReadAll(r.Body)
				missing, isMissing := strings.CutPrefix(c.refused, "!")
				if strings.Contains(string(body), missing) != isMissing {
					refuse(c.status, `{"error":{"message":"`+c.message+`"}}`)(w, r)
					return
				}
				say(hello, stop, done)(w, r)
			})
			m, req := model(t, s.URL), request()
			req.System, req.Generate.MaxTokens = []string{"Be brief."}, 100
			req.Tools = []llm.ToolDefinition{{Name: "f", Schema: []byte(`{"type":"object"}`)}}
			req.Messages = append(
				req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "a"}}},
				llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "b"}}},
			)
			first := stream(t.Context(), m, req)
			if first.err == nil || !first.err.IsRetryable() || !strings.Contains(first.err.Message, "next requests go with") {
				t.Fatalf("the first request: %v", first.err)
			}
			for range 2 {
				if out := stream(t.Context(), m, req); out.err != nil || out.text != "hello" {
					t.Errorf("a later request: %v", out.err)
				}
			}
			if requests != 3 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// TestCureOnce: a server that refuses the request as before gets no third one of the same kind.
func TestCureOnce(t *testing.T) {
	s := serve(t, refuse(400, `{"error":{"message":"stream_options is not supported"}}`))
	m := model(t, s.URL)
	if out := stream(t.Context(), m, request()); !out.err.IsRetryable() {
		t.Errorf("the first request: %v", out.err)
	}
	if out := stream(t.Context(), m, request()); out.err.IsRetryable() {
		t.Errorf("the second request: %v", out.err)
	}
}
