package provider_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// sealed begins all data in this test that only its provider can read.
const sealed = "SEALED"

// answers are answers of models on every wire with hosted tools, as the engine lowers them for a model of another
// provider: without the parts' metadata, with the results of the hosted tools.
func answers(size int) map[string][]llm.Part {
	blob := sealed + strings.Repeat("x", size)
	hosted := func(id, name, result string) []llm.Part {
		return []llm.Part{
			llm.ToolCall{ID: id, Name: name, Input: jsontext.Value(`{"query":"q"}`), Hosted: true, OtherProvider: true},
			llm.ToolResult{ID: id, Name: name, Hosted: true, Raw: jsontext.Value(strings.ReplaceAll(result, "BLOB", blob))},
		}
	}
	return map[string][]llm.Part{
		"search at Anthropic": hosted(
			"srvtoolu_1", "web_search",
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",`+
				`"url":"https://note.test/a","title":"A title","encrypted_content":"BLOB","page_age":null}]}`,
		),
		"code at Anthropic": hosted(
			"srvtoolu_2", "code_execution",
			`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_2",`+
				`"content":{"type":"encrypted_code_execution_result","encrypted_stdout":"BLOB",`+
				`"stderr":"https://note.test/a A title"}}`,
		),
		"fetched at Anthropic": hosted(
			"srvtoolu_3", "web_fetch",
			`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_3","content":{"type":"web_fetch_result",`+
				`"url":"https://note.test/a",`+
				`"content":{"type":"document","title":"A title","source":{"type":"text","data":"words"},`+
				`"citations":[{"encrypted_index":"BLOB"}]}}}`,
		),
		"MCP at Anthropic": hosted(
			"mcptoolu_4", "ask",
			`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_4","content":[{"type":"text",`+
				`"text":"https://note.test/a A title","signature":"BLOB"}]}`,
		),
		"reasoned at OpenAI": hosted(
			"ws_5", "web_search",
			`{"id":"ws_5","results":[{"url":"https://note.test/a","title":"A title"}],"reasoning":{"encrypted_content":"BLOB"}}`,
		),
		"searched at Google": hosted(
			"g_6", "google_search",
			`{"toolResponse":{"response":{"url":"https://note.test/a","title":"A title"}},"thoughtSignature":"BLOB"}`,
		),
		"thought at OpenRouter": hosted(
			"r_7", "web",
			`[{"url":"https://note.test/a","title":"A title","reasoning_details":[{"type":"reasoning.encrypted",`+
				`"data":"BLOB"},{"type":"redacted_thinking","data":"BLOB"}]}]`,
		),
	}
}

// TestSealedDataStaysWithItsProvider: opaque data of one provider is never sent to another, whatever their wires are;
// the readable results of its hosted tools are.
func TestSealedDataStaysWithItsProvider(t *testing.T) {
	rows := append(provider.ListVendors(), provider.NewCustom("own", "Own", "@ai-sdk/anthropic"))
	for _, row := range rows {
		for _, wire := range []provider.Wire{row.Wire, provider.Responses, provider.Messages} {
			for _, size := range []int{8, 4000} {
				for name, parts := range answers(size) {
					body := bodyOf(t, row, wire, parts)
					if i := strings.Index(body, sealed); i >= 0 {
						t.Errorf("%s over %q, %s: …%.200s", row.ID, wire, name, body[max(0, i-100):])
					}
					if !strings.Contains(body, "https://note.test/a") || !strings.Contains(body, "A title") {
						t.Errorf("%s over %q, %s: the hosted result is missing in %s", row.ID, wire, name, body)
					}
				}
			}
		}
	}
}

// bodyOf returns the request that a row sends over a wire for a conversation with an answer of those parts.
func bodyOf(t *testing.T, row provider.Vendor, wire provider.Wire, parts []llm.Part) string {
	t.Helper()
	row.Wire, row.BaseURL = wire, "https://own.test/v1"
	var body string
	m, err := provider.New(provider.Config{
		Vendor: row, Key: secret, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			raw, err := io.ReadAll(r.Body)
			body = string(raw)
			return nil, errors.Join(err, errors.New("no more is needed"))
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	req := request()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: parts}, req.Messages[0])
	for _, err := range m.Stream(t.Context(), req) {
		if body == "" {
			t.Fatal(fmt.Errorf("%s over %q: %w", row.ID, wire, err))
		}
	}
	return body
}
