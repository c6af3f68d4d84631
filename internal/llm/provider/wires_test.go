package provider_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// event is one frame of an Amazon event stream.
func event(tb testing.TB, name, payload string) string {
	tb.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue(name))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// TestOtherWires sends a request over each wire except Chat and checks its address, its headers and that the answer is
// decoded.
func TestOtherWires(t *testing.T) {
	messages := `data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n"
	converse := event(t, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hello"}}`) +
		event(t, "messageStop", `{"stopReason":"end_turn"}`) +
		event(t, "metadata", `{"usage":{"inputTokens":3,"outputTokens":1}}`)
	tests := []struct {
		name, vendor, model, base, path, answer string
		headers                                 map[string]string
	}{
		{
			"Anthropic", "anthropic", "claude-x", "/v1", "/v1/messages", messages,
			map[string]string{
				"X-Api-Key": secret, "Authorization": "", "Anthropic-Version": "2023-06-01", "Accept": "text/event-stream",
				"Anthropic-Beta": "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14",
			},
		},
		{
			"Bedrock", "amazon-bedrock", "a.b-v1:0", "", "/model/a.b-v1%3A0/converse-stream", converse,
			map[string]string{"Authorization": "Bearer " + secret, "Accept": "application/vnd.amazon.eventstream"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got *http.Request
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Clone(context.Background())
				io.WriteString(w, tt.answer)
			})
			vendor, _ := provider.Find(tt.vendor)
			vendor.BaseURL = s.URL + tt.base
			transport := provider.NewTransport()
			t.Cleanup(transport.CloseIdleConnections)
			m, err := provider.New(provider.Config{Vendor: vendor, Key: secret, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			req := request()
			req.Model = tt.model
			out := stream(t.Context(), m, req)
			if out.err != nil || out.text != "hello" || out.finish == nil || out.finish.Usage.Input != 3 {
				t.Errorf("got %+v", out)
			}
			if path := got.URL.EscapedPath(); path != tt.path {
				t.Errorf("path %s, want %s", path, tt.path)
			}
			for name, want := range tt.headers {
				if have := strings.Join(got.Header.Values(name), ","); have != want {
					t.Errorf("%s: %q, want %q", name, have, want)
				}
			}
		})
	}
}

// TestBetas: the beta features of the vendor, the configuration and the request are combined without duplicates; an
// empty value in the configuration removes the vendor's.
func TestBetas(t *testing.T) {
	const own = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14"
	for _, tt := range []struct{ config, request, want string }{
		{"", "", ""},
		{"none", "", own},
		{"context-1m-2025-08-07", "", own + ",context-1m-2025-08-07"},
		{"a, interleaved-thinking-2025-05-14 ,,b", "", own + ",a,b"},
		{"a", "a", own + ",a"},
		{"", "a", "a"},
		{"interleaved-thinking", "", own + ",interleaved-thinking"},
	} {
		vendor, _ := provider.Find("anthropic")
		var sent string
		req, headers := request(), map[string]string{"anthropic-beta": tt.config}
		if tt.config == "none" {
			headers = nil
		}
		if tt.request != "" {
			req.Headers = map[string]string{"ANTHROPIC-BETA": tt.request}
		}
		m, err := provider.New(provider.Config{
			Vendor: vendor, Key: secret, Headers: headers, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = strings.Join(r.Header.Values("Anthropic-Beta"), ";")
				return nil, io.ErrUnexpectedEOF
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		stream(t.Context(), m, req)
		if sent != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.config, tt.request, sent, tt.want)
		}
	}
}
