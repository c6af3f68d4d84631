package provider_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

const secret = "canary-key-0123456789"

const (
	hello   = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"hello"}}]}` + "\n\n"
	stop    = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	counted = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}` + "\n\n"
	done    = "data: [DONE]\n\n"
)

// turn is the outcome of one Stream.
type turn struct {
	text   string
	calls  []llm.ToolCallEvent
	finish *llm.Finish
	opened llm.ResponseStart
	err    *llm.Error
}

func stream(ctx context.Context, m llm.Model, req *llm.Request) turn {
	var out turn
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			out.err, _ = errors.AsType[*llm.Error](err)
			continue
		}
		switch e := e.(type) {
		case llm.ResponseStart:
			out.opened = e
		case llm.TextDelta:
			out.text += e.Delta
		case llm.ToolCallEvent:
			out.calls = append(out.calls, e)
		case llm.Finish:
			out.finish = &e
		}
	}
	return out
}

func request() *llm.Request {
	return &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hi"}}}}}
}

// model returns a Model with a key for the server at url.
func model(tb testing.TB, url string) *provider.Model {
	tb.Helper()
	transport := provider.NewTransport()
	tb.Cleanup(transport.CloseIdleConnections)
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", url+"/v1/"), Key: secret,
		Transport: provider.WithUserAgent("cairn/1", transport),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func serve(tb testing.TB, h http.HandlerFunc) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s
}

func TestStream(t *testing.T) {
	var got *http.Request
	var body []byte
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", "r-7")
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, hello+stop+counted+done)
	})
	req := request()
	req.Session, req.Parent = "ses_1", "ses_0"
	req.Headers = map[string]string{"X-Extra": "1", "Authorization": "Bearer other"}
	out := stream(t.Context(), model(t, s.URL), req)
	if out.err != nil || out.text != "hello" || out.finish == nil || out.finish.Usage.Input != 3 ||
		out.opened.RequestID != "r-7" {
		t.Errorf("got %+v", out)
	}
	want := map[string]string{
		"Authorization": "Bearer " + secret, "X-Extra": "1", "User-Agent": "cairn/1", "X-Session-Affinity": "ses_1",
		"X-Session-Id": "ses_1", "X-Parent-Session-Id": "ses_0", "Accept-Encoding": "identity",
		"Content-Type": "application/json", "Accept": "text/event-stream",
	}
	for name, value := range want {
		if got.Header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), value)
		}
	}
	if got.Method != "POST" || got.URL.Path != "/v1/chat/completions" || !strings.Contains(string(body), `"stream":true`) {
		t.Errorf("%s %s %s", got.Method, got.URL, body)
	}
}

func TestConnectionIsReused(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, hello+stop+done)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	m := model(t, s.URL)
	for range 3 {
		if out := stream(t.Context(), m, request()); out.err != nil {
			t.Fatal(out.err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 3 turns", n)
	}
}

func TestNewRefuses(t *testing.T) {
	openai, _ := provider.Find("openai")
	compatible := func(url string) provider.Vendor { return provider.NewCompatible("x", "X", url) }
	tests := []struct {
		name string
		c    provider.Config
		want string
	}{
		{"no key", provider.Config{Vendor: openai}, "OPENAI_API_KEY"},
		{"key with a line break", provider.Config{Vendor: openai, Key: secret + "\nx"}, "line break"},
		{"no URL", provider.Config{Vendor: compatible("")}, "baseURL"},
		{"no scheme", provider.Config{Vendor: compatible("localhost:11434/v1")}, "https://host/v1"},
		{"file", provider.Config{Vendor: compatible("file:///etc/passwd")}, "https://host/v1"},
		{"password in the URL", provider.Config{Vendor: compatible("https://u:" + secret + "@h/v1")}, "user name"},
		{
			"key for another host",
			provider.Config{Vendor: compatible("https://evil.example/v1"), Key: secret, KeyHosts: []string{"api.openai.com"}},
			"evil.example",
		},
		{
			"headers for another host",
			provider.Config{
				Vendor: compatible("https://evil.example/v1"), Headers: map[string]string{"X-Api-Key": secret},
				KeyHosts: []string{"api.openai.com"},
			},
			"evil.example",
		},
		{
			"connection header",
			provider.Config{Vendor: compatible("https://h"), Headers: map[string]string{"host": "x"}},
			`"host"`,
		},
		{
			"header injection",
			provider.Config{Vendor: compatible("https://h"), Headers: map[string]string{"X-A": secret + "\r\nX-B: 1"}},
			"X-A",
		},
		{"header name", provider.Config{Vendor: compatible("https://h"), Headers: map[string]string{"X A": "1"}}, "X A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := provider.New(tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInvalidRequestIsNotSent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request was sent although it is invalid") })
	m := model(t, s.URL)
	req := request()
	req.Body = map[string]jsontext.Value{"model": jsontext.Value(`"other"`)}
	if out := stream(t.Context(), m, req); out.err == nil || out.err.Class != llm.InvalidRequest {
		t.Errorf("got %+v", out)
	}
	req = request()
	req.Headers = map[string]string{"Host": "x"}
	if out := stream(t.Context(), m, req); out.err == nil || out.err.Class != llm.InvalidRequest {
		t.Errorf("got %+v", out)
	}
}

func TestVendors(t *testing.T) {
	var last string
	for _, v := range provider.ListVendors() {
		if v.ID <= last {
			t.Errorf("%s is not sorted after %s", v.ID, last)
		}
		last = v.ID
		placed, err := v.ResolveBaseURL(provider.Lookup{Env: func(string) string { return "mine" }})
		if err != nil {
			t.Errorf("%s: %v", v.ID, err)
		}
		if _, err := provider.New(provider.Config{Vendor: placed, Key: secret}); err != nil && placed.Wire.IsSupported() {
			t.Errorf("%s: %v", v.ID, err)
		}
		if found, ok := provider.Find(v.ID); !ok || found.BaseURL != v.BaseURL {
			t.Errorf("%s is not found", v.ID)
		}
	}
	for _, short := range []string{"together", "fireworks"} {
		if _, ok := provider.Find(short); !ok {
			t.Errorf("%s is not found", short)
		}
	}
}

func TestChatDialectByModel(t *testing.T) {
	tests := []struct {
		vendor string
		facts  provider.Facts
		want   string
	}{
		{"openai", provider.Facts{ModelID: "o9", Reasoning: true}, `"max_completion_tokens":5`},
		{"github-models", provider.Facts{ModelID: "openai/o9", Reasoning: true}, `"max_completion_tokens":5`},
		{"cloudflare-ai-gateway", provider.Facts{ModelID: "openai/o9", Reasoning: true}, `"max_completion_tokens":5`},
		{"cloudflare-ai-gateway", provider.Facts{ModelID: "anthropic/r", Reasoning: true}, `"max_tokens":5`},
		{"openai", provider.Facts{ModelID: "gpt-4o"}, `"max_tokens":5`},
		{"deepseek", provider.Facts{ModelID: "r", Reasoning: true}, `"reasoning_content":""`},
		{"fireworks", provider.Facts{ModelID: "r", ReasoningField: "reasoning"}, `"reasoning":""`},
		{"openrouter", provider.Facts{ModelID: "anthropic/claude-x"}, `"id":"call_`},
		{"mistral", provider.Facts{ModelID: "m"}, `"role":"user"`},
	}
	for _, tt := range tests {
		t.Run(tt.vendor+" "+tt.facts.ModelID, func(t *testing.T) {
			var body string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				body = string(b)
				io.WriteString(w, hello+stop+done)
			})
			v, _ := provider.Find(tt.vendor)
			v.BaseURL = s.URL
			m, err := provider.New(provider.Config{Vendor: v, Key: secret, Facts: tt.facts})
			if err != nil {
				t.Fatal(err)
			}
			req := request()
			req.Generate.MaxTokens = 5
			req.Messages = append(req.Messages,
				llm.Message{
					Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a.b", Name: "f", Input: jsontext.Value("{}")}},
				},
				llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "a.b"}}})
			if out := stream(t.Context(), m, req); out.err != nil || !strings.Contains(body, tt.want) {
				t.Errorf("%v: want %s in %s", out.err, tt.want, body)
			}
			if tt.vendor == "mistral" && strings.Contains(body, "stream_options") {
				t.Errorf("stream_options in %s", body)
			}
		})
	}
	if (openaichat.Dialect{}).CacheKey {
		t.Error("a cache key was sent to an unknown server")
	}
}
