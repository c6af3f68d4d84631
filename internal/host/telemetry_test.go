//go:build unix

package host

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/otlptest"
)

// tracedVendor is a provider whose model runs a command, hands work to a subagent, and answers.
type tracedVendor struct {
	mu      sync.Mutex // guards what follows
	parents []string   // of the requests
	results []string   // bodies of the requests with results of calls
	refuse  bool
}

func (v *tracedVendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.parents = append(v.parents, r.Header.Get("Traceparent"))
	if v.refuse {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	call := func(name, arguments string) string {
		return fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":%q,"arguments":%q}}]}`,
			name, name, arguments)
	}
	delta, finish := `{"content":"Done with a secret."}`, "stop"
	switch done := strings.Count(body, `"role":"tool"`); {
	case !strings.Contains(body, "please work"):
		delta = `{"content":"Seen."}`
	case done == 0:
		delta, finish = call("bash", `{"command":"echo parent=$TRACEPARENT","description":"show"}`), "tool_calls"
	case done == 1:
		v.results = append(v.results, body)
		delta, finish = call("task", `{"description":"look","prompt":"look around","subagent_type":"general"}`), "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s}]}`+"\n\n"+
		`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":%q}],`+
		`"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`+"\n\ndata: [DONE]\n\n", delta, finish)
}

// newTracedHome makes a home whose model is served by the vendor, with members for its configuration.
func newTracedHome(t *testing.T, v http.Handler, members string) client.Options {
	t.Helper()
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	home := t.TempDir()
	write(t, filepath.Join(home, "project", "README"), "x")
	write(t, filepath.Join(home, "config", "cairn.json"), fmt.Sprintf(`{
		"model": "mock/main", "permission": {"bash": "allow", "task": "allow"}, %s
		"provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "k"},
			"models": {"main": {"name": "Main", "cost": {"input": 1, "output": 10}}}}}}`, members, server.URL))
	return optionsOf(home)
}

const clientTrace = "0af7651916cd43dd8448eb211c80319c"

// work has a session do a prompt to its end. The client names its own span.
func work(t *testing.T, c *client.Connection) session.ID {
	t.Helper()
	id := create(t, c, "Trace")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.API.Base+"/api/session/"+string(id)+"/prompt",
		strings.NewReader(`{"prompt": {"text": "please work"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", "00-"+clientTrace+"-b7ad6b7169203331-01")
	resp, err := c.API.HTTP.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	if err := c.API.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestTraces: the spans of a prompt with a command and a subagent are a tree below the client's own span. Requests to the
// provider and the command name their spans. Nothing of the conversation is in it.
func TestTraces(t *testing.T) {
	v, collector := &tracedVendor{}, &otlptest.Collector{}
	receiver := httptest.NewServer(collector)
	defer receiver.Close()
	o := newTracedHome(t, v, fmt.Sprintf(`"telemetry": {"endpoint": %q, "headers": {"x-key": "{env:HOST_SECRET}"}},`, receiver.URL))
	c := open(t, o)
	id := work(t, c)
	closeIt(t, c)
	spans, err := collector.Spans()
	if err != nil {
		t.Fatal(err)
	}
	want := `invoke_agent build
  chat main
  chat main
  chat main
  execute_tool bash
  execute_tool task
    invoke_agent general
      chat main
`
	if diff := cmp.Diff(want, collector.Tree()); diff != "" {
		t.Fatal(diff)
	}
	find := func(name string) otlptest.Span {
		return spans[slices.IndexFunc(spans, func(s otlptest.Span) bool { return s.Name == name })]
	}
	root, bash, chat := find("invoke_agent build"), find("execute_tool bash"), find("chat main")
	if root.Trace != clientTrace || root.Parent != "b7ad6b7169203331" {
		t.Errorf("the root is below %s of %s", root.Parent, root.Trace)
	}
	if diff := cmp.Diff(map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "mock", "gen_ai.request.model": "main",
		"gen_ai.conversation.id":         string(id),
		"gen_ai.response.finish_reasons": []any{"tool-calls"}, "gen_ai.usage.input_tokens": int64(100),
		"gen_ai.usage.output_tokens": int64(10), "gen_ai.usage.cache_read.input_tokens": int64(0),
		"gen_ai.usage.cache_creation.input_tokens": int64(0), "cairn.cost": 0.0002,
	}, chat.Attributes); diff != "" || chat.Kind != 3 {
		t.Errorf("kind %d: %s", chat.Kind, diff)
	}
	if diff := cmp.Diff(map[string]any{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.type": "function",
		"gen_ai.tool.call.id": "call_bash", "gen_ai.agent.name": "build", "gen_ai.conversation.id": string(id),
	}, bash.Attributes); diff != "" {
		t.Error(diff)
	}
	// Who was called knows the span of the call.
	v.mu.Lock()
	defer v.mu.Unlock()
	if !strings.Contains(v.results[0], "parent=00-"+clientTrace+"-"+bash.ID+"-01") {
		t.Errorf("the command does not know its span: %s", v.results[0])
	}
	for _, parent := range v.parents {
		if !slices.ContainsFunc(spans, func(s otlptest.Span) bool {
			return s.Name == "chat main" && parent == "00-"+clientTrace+"-"+s.ID+"-01"
		}) {
			t.Errorf("a request names %q", parent)
		}
	}
	for _, r := range collector.Requests() {
		if r.Header.Get("x-key") != hostSecret {
			t.Errorf("the header is %q", r.Header.Get("x-key"))
		}
	}
	const at = "gen_ai.provider.name=mock,gen_ai.request.model=main"
	calls, tokens := collector.Metric("cairn.calls"), collector.Metric("gen_ai.client.token.usage")
	if calls.Values["gen_ai.tool.name=bash,outcome=succeeded"] != 1 ||
		tokens.Values["gen_ai.operation.name=chat,"+at+",gen_ai.token.type=input"] != 400 ||
		collector.Metric("gen_ai.client.operation.duration").Counts["gen_ai.operation.name=chat,"+at] != 4 {
		t.Errorf("metrics: %+v %+v", calls, tokens)
	}
	for _, s := range spans {
		if text := fmt.Sprint(s); strings.Contains(text, "secret") || strings.Contains(text, "echo") {
			t.Errorf("a span has the conversation: %s", text)
		}
	}
}

// TestTracesWithContent: with the setting spans have texts.
func TestTracesWithContent(t *testing.T) {
	collector := &otlptest.Collector{}
	receiver := httptest.NewServer(collector)
	defer receiver.Close()
	o := newTracedHome(t, &tracedVendor{}, `"telemetry": {"content": true},`)
	env := o.Env
	o.Env = func(name string) string { // the variables of OpenTelemetry suffice
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL, "OTEL_SERVICE_NAME": "mine"}[name] + env(name)
	}
	c := open(t, o)
	work(t, c)
	closeIt(t, c)
	spans, err := collector.Spans()
	text := fmt.Sprint(spans)
	for _, part := range []string{"Done with a secret.", "echo parent=", "gen_ai.tool.call.result:parent=00-"} {
		if !strings.Contains(text, part) || err != nil {
			t.Errorf("%q is missing: %v", part, err)
		}
	}
	if name := collector.Resource("service.name"); name != "mine" {
		t.Errorf("the service is %v", name)
	}
}

// TestNoTelemetry: nothing is sent and no one is told of a span unless that is configured, nor where it is turned off.
func TestNoTelemetry(t *testing.T) {
	for name, x := range map[string]struct{ members, variable string }{
		"not configured": {}, "off": {`"telemetry": {"enabled": false},`, ""}, "SDK": {"", "OTEL_SDK_DISABLED"},
	} {
		t.Run(name, func(t *testing.T) {
			v, collector := &tracedVendor{}, &otlptest.Collector{}
			receiver := httptest.NewServer(collector)
			defer receiver.Close()
			o := newTracedHome(t, v, x.members)
			env := o.Env
			o.Env = func(name string) string {
				if name == "OTEL_EXPORTER_OTLP_ENDPOINT" && (x.members != "" || x.variable != "") {
					return receiver.URL
				}
				if name == x.variable {
					return "true"
				}
				return env(name)
			}
			c := open(t, o)
			work(t, c)
			err := c.API.CallV1(t.Context(), http.MethodGet, "/metrics", nil, nil)
			closeIt(t, c)
			if n := len(collector.Requests()); n > 0 || err == nil || !strings.Contains(err.Error(), "telemetry.prometheus") {
				t.Errorf("%d requests; metrics: %v", n, err)
			}
			if slices.ContainsFunc(v.parents, func(p string) bool { return p != "" }) || strings.Contains(v.results[0], "parent=00") {
				t.Errorf("spans are named: %q %s", v.parents, v.results)
			}
		})
	}
}

// TestMetrics: the metrics are served in the text form of Prometheus.
func TestMetrics(t *testing.T) {
	v := &tracedVendor{}
	o := newTracedHome(t, v, `"telemetry": {"prometheus": true},`)
	c := open(t, o)
	defer closeIt(t, c)
	work(t, c)
	v.mu.Lock()
	v.refuse = true
	v.mu.Unlock()
	id := create(t, c, "Fails")
	if _, err := c.API.Prompt(t.Context(), id, api.PromptRequest{Prompt: &session.Prompt{Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	_ = c.API.Wait(t.Context(), id) // it fails
	resp, err := c.API.HTTP.Get(c.API.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(resp.Body)
	if got := resp.Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("the type is %q", got)
	}
	for _, line := range []string{
		`cairn_turns_total{gen_ai_provider_name="mock",gen_ai_request_model="main"} 5`,
		`cairn_calls_total{gen_ai_tool_name="bash",outcome="succeeded"} 1`,
		`cairn_tokens_total{gen_ai_provider_name="mock",gen_ai_request_model="main",gen_ai_token_type="output"} 40`,
		`cairn_cost_usd_total{gen_ai_provider_name="mock",gen_ai_request_model="main"} 0.0008`,
		`cairn_errors_total{of="turn",error_type="auth"} 1`, `cairn_errors_total{of="work",error_type="auth"} 1`,
		`cairn_sessions_working 0`, `cairn_asks_waiting 0`, `cairn_queue_dropped{queue="notify"} 0`,
		`cairn_build_info{version="test",goversion="go`,
		`gen_ai_client_token_usage_bucket{gen_ai_provider_name="mock",gen_ai_request_model="main",gen_ai_operation_name="chat",gen_ai_token_type="input",le="256"} 4`,
	} {
		if !strings.Contains(string(raw), line) {
			t.Errorf("there is no line %s in\n%s", line, raw)
		}
	}
}

// TestNotify: a command is told that work has ended, and that it failed.
func TestNotify(t *testing.T) {
	out := filepath.Join(t.TempDir(), "told")
	v := &tracedVendor{}
	o := newTracedHome(t, v, fmt.Sprintf(`"notify": {"log": {"command": "cat >> %s"}},`, out))
	c := open(t, o)
	id := work(t, c)
	v.mu.Lock()
	v.refuse = true
	v.mu.Unlock()
	if _, err := c.API.Prompt(t.Context(), id, api.PromptRequest{Prompt: &session.Prompt{Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	_ = c.API.Wait(t.Context(), id) // it fails
	closeIt(t, c)
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	told := string(raw)
	for _, part := range []string{
		`{"event":"end","sessionID":"` + string(id) + `","title":"Trace","directory":"` + o.Dir + `","text":"Done with a secret.","cost":0.0006,`,
		`{"event":"failure","sessionID":"` + string(id) + `",`,
	} {
		if !strings.Contains(told, part) {
			t.Errorf("%s is missing in %s", part, told)
		}
	}
	if n := strings.Count(told, `"event"`); n != 2 {
		t.Errorf("%d messages: %s", n, told)
	}
}

// TestDocumentedTelemetry: the examples of docs/telemetry.md work: the configuration has no warning, the command and the
// webhook get messages, the collector gets spans, and the metrics are those of the table.
func TestDocumentedTelemetry(t *testing.T) {
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	// Take the members of both examples, with the addresses of this test.
	var members strings.Builder
	blocks := strings.Split(string(page), "```json\n")
	if len(blocks) != 3 {
		t.Fatalf("the page has %d examples", len(blocks)-1)
	}
	collector := &otlptest.Collector{}
	receiver := httptest.NewServer(collector)
	defer receiver.Close()
	said := make(chan string, 10) // more than the test says
	team := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- r.Header.Get("Authorization") + " " + string(body)
	}))
	defer team.Close()
	for _, block := range blocks[1:] {
		text, _, _ := strings.Cut(block, "```")
		members.WriteString(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "{"), "}") + ",")
	}
	people := t.TempDir()
	t.Setenv("HOME", people) // of the command
	v := &tracedVendor{}
	o := newTracedHome(t, v, strings.NewReplacer(
		"http://localhost:4318", receiver.URL, "https://hooks.example.com", team.URL, "TEAM_TOKEN", "HOST_SECRET",
		"COLLECTOR_KEY", "HOST_SECRET",
	).Replace(members.String()))
	loaded, err := Host{}.Config(t.Context(), o)
	if err != nil || len(loaded.Warnings) > 0 {
		t.Fatalf("%v %v", loaded.Warnings, err)
	}
	// Have work end, and fail.
	c := open(t, o)
	work(t, c)
	v.mu.Lock()
	v.refuse = true
	v.mu.Unlock()
	id := create(t, c, "Fails")
	if _, err := c.API.Prompt(t.Context(), id, api.PromptRequest{Prompt: &session.Prompt{Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	_ = c.API.Wait(t.Context(), id) // it fails
	resp, err := c.API.HTTP.Get(c.API.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(resp.Body)
	closeIt(t, c)
	told, err := os.ReadFile(filepath.Join(people, "cairn-messages.jsonl"))
	if err != nil || strings.Count(string(told), `"event"`) != 2 {
		t.Errorf("the command was told %s %v", told, err)
	}
	if text := <-said; len(said) > 0 || !strings.HasPrefix(text, "Bearer "+hostSecret+` {"event":"failure"`) {
		t.Errorf("the webhook was told %s, and %d more", text, len(said))
	}
	if spans, err := collector.Spans(); err != nil || len(spans) == 0 || collector.Requests()[0].Header.Get("x-api-key") != hostSecret {
		t.Errorf("%d spans, %v", len(spans), err)
	}
	// Compare the table with what is served and sent.
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `cairn.") && !strings.HasPrefix(cells[1], " `gen_ai.") {
			continue
		}
		name, served := strings.Trim(cells[1], " `"), strings.Trim(cells[2], " `")
		if collector.Metric(name).Kind == "" || !strings.Contains(string(metrics), "# TYPE "+served+" ") {
			t.Errorf("there is no metric %s, or none for Prometheus of the name %s", name, served)
		}
	}
	if n := strings.Count(string(metrics), "# TYPE "); n != 11 {
		t.Errorf("%d metrics are served", n)
	}
}
