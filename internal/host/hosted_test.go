package host

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// The traffic of vendors that run a tool of their own, in the shape of their documentation: a search, what it found,
// and an answer.
const (
	messagesSearch = `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9}}}
{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.org","title":"T","encrypted_content":"sealed"}]}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Found."}}
{"type":"content_block_stop","index":2}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}
{"type":"message_stop"}`

	responsesSearch = `{"type":"response.created","response":{"id":"resp_1"}}
{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}
{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}}
{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","content":[]}}
{"type":"response.output_text.delta","output_index":1,"content_index":0,"item_id":"msg_1","delta":"Found."}
{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Found.","annotations":[{"type":"url_citation","url":"https://example.org","start_index":0,"end_index":5}]}]}}
{"type":"response.completed","response":{"id":"resp_1","status":"completed","usage":{"input_tokens":9,"output_tokens":3}}}`

	geminiSearch = `{"candidates":[{"content":{"role":"model","parts":[{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"s1"},"thoughtSignature":"c2ln"}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"found":1},"id":"s1"}},{"text":"Found."}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}`
)

// searching is a vendor that plays one answer to every request.
type searching struct {
	*httptest.Server
	mu   sync.Mutex // guards asked
	path string
	said []string // headers and body of each request
}

func newSearching(t *testing.T, answer string) *searching {
	t.Helper()
	v := &searching{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head strings.Builder
		_ = r.Header.Write(&head)
		v.mu.Lock()
		v.path = r.URL.Path
		v.said = append(v.said, head.String()+string(body))
		v.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range strings.Lines(answer) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", strings.TrimSpace(line))
		}
	}))
	t.Cleanup(v.Close)
	return v
}

// A tool that a vendor runs itself is declared as it is configured, what it found is part of the session, and it goes
// back to the vendor as it came.
func TestHostedTools(t *testing.T) {
	for _, tt := range []struct {
		name, answer, config, model, path string
		declared, back                    []string
		missing                           string // what must not be sent
	}{
		{
			"anthropic", messagesSearch,
			`"anthropic": {"hosted_tools": ["web_search", "code_execution"], "options": {"baseURL": %q, "apiKey": "k"}}`,
			"anthropic/claude-sonnet-4-5", "/messages",
			[]string{
				`{"type":"web_search_20250305","name":"web_search"}`,
				`{"type":"code_execution_20250825","name":"code_execution"}`, "code-execution-2025-08-25",
			},
			[]string{
				`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
				`"encrypted_content":"sealed"`,
			},
			"",
		},
		{
			"openai", responsesSearch,
			`"openai": {"options": {"baseURL": %q, "apiKey": "k"}, "models": {"gpt-5.5": {"hosted_tools": ["web_search", {"type": "file_search", "vector_store_ids": ["v"]}]}}}`, "openai/gpt-5.5", "/responses",
			[]string{`{"type":"web_search"}`, `{"type":"file_search","vector_store_ids":["v"]}`},
			[]string{`"text":"Found."`},
			"ws_1",
		},
		{
			"xai", responsesSearch,
			`"xai": {"hosted_tools": ["x_search", "web_search", "code_execution"], "options": {"baseURL": %q, "apiKey": "k"}}`,
			"xai/grok-4.3", "/responses",
			[]string{`{"type":"web_search"}`, `{"type":"x_search"}`, `{"type":"code_interpreter"}`},
			[]string{`"text":"Found."`},
			"ws_1",
		},
		{
			"google", geminiSearch,
			`"google": {"hosted_tools": ["web_search"], "options": {"baseURL": %q, "apiKey": "k"}}`,
			"google/gemini-3.1-pro-preview", ":streamGenerateContent",
			[]string{`{"googleSearch":{}}`, `"includeServerSideToolInvocations":true`, "functionDeclarations"},
			[]string{
				`"thoughtSignature":"c2ln","toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"s1"}`,
				`"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"found":1},"id":"s1"}`,
			},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newSearching(t, tt.answer)
			home, mock := newHome(t)
			close(mock.released)
			write(
				t,
				filepath.Join(home, "config", "cairn.json"),
				fmt.Sprintf(`{"model": %q, "agent": {"title": {"disable": true}}, "provider": {`+tt.config+`}}`, tt.model, v.URL),
			)
			c := open(t, optionsOf(home))
			defer closeIt(t, c)
			id := create(t, c, "t")
			for _, text := range []string{"look", "again"} {
				if _, err := c.API.Prompt(t.Context(), id, say(text)); err != nil {
					t.Fatal(err)
				}
				if err := c.API.Wait(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			if len(v.said) != 2 || !strings.HasSuffix(v.path, tt.path) {
				t.Fatalf("%d requests, to %s", len(v.said), v.path)
			}
			for _, want := range tt.declared {
				if !strings.Contains(v.said[0], want) {
					t.Errorf("no %s in\n%s", want, v.said[0])
				}
			}
			for _, want := range tt.back {
				if !strings.Contains(v.said[1], want) {
					t.Errorf("no %s in\n%s", want, v.said[1])
				}
			}
			if tt.missing != "" && strings.Contains(v.said[1], tt.missing) {
				t.Errorf("%s in\n%s", tt.missing, v.said[1])
			}
			ran(t, c, id)
		})
	}
}

// What a model draws is kept as a file of its session, and is sent back to it.
func TestPicturesOfModels(t *testing.T) {
	const answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Look:"},{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`
	v := newSearching(t, answer)
	home, mock := newHome(t)
	close(mock.released)
	write(
		t,
		filepath.Join(home, "config", "cairn.json"),
		fmt.Sprintf(
			`{"model": "google/gemini-3-flash-preview", "agent": {"title": {"disable": true}}, "provider": {"google": {"options": {"baseURL": %q, "apiKey": "k"}}}}`,
			v.URL,
		),
	)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id := create(t, c, "t")
	for _, text := range []string{"draw", "bigger"} {
		if _, err := c.API.Prompt(t.Context(), id, say(text)); err != nil {
			t.Fatal(err)
		}
		if err := c.API.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	page, err := c.API.Messages(t.Context(), id, api.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, m := range page.Data {
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		for _, call := range a.Tools() {
			for _, f := range call.State.Content {
				if f.Type == "file" && f.Mime == "image/png" && f.URI == "data:image/png;base64,cGl4ZWxz" {
					files++
				}
			}
		}
	}
	if files != 2 ||
		!strings.Contains(
			v.said[1],
			`{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"},"thoughtSignature":"c2ln"}`,
		) {
		t.Errorf("%d files, and\n%s", files, v.said[1])
	}
}

// ran holds that the session has calls that its provider ran, with what they found.
func ran(t *testing.T, c *client.Connection, id session.ID) {
	t.Helper()
	page, err := c.API.Messages(t.Context(), id, api.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range page.Data {
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		if a.Error != nil {
			t.Error(a.Error)
		}
		for _, call := range a.Tools() {
			if call.Provider == nil || !call.Provider.Executed || call.State.Status != session.ToolCompleted ||
				len(call.State.Result) == 0 {
				t.Errorf("%+v", call)
			}
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d calls", found)
	}
}
