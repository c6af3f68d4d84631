package web

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed websearch.md
var searchDescription string

const searchSchema = `{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":2000,"description":"What is looked for"},
"numResults":{"type":"integer","minimum":1,"maximum":20,"description":"How many results; 8 if absent"},
"livecrawl":{"type":"string","enum":["fallback","preferred"],"description":"Whether pages are visited anew: only those not known (fallback, if absent), or rather all (preferred)"},
"type":{"type":"string","enum":["auto","fast","deep"],"description":"How thorough the search is; auto if absent"},
"contextMaxCharacters":{"type":"integer","minimum":1,"maximum":50000,"description":"The most characters that are returned; 10000 if absent"}
},"required":["query"],"additionalProperties":false}`

const (
	searchTime = 25 * time.Second
	maxFound   = 256 << 10
)

// Searcher is a search service with an MCP interface: one POST calls one tool.
type Searcher struct {
	Name   string // shown to people
	URL    string
	Header http.Header // contains the key
	Tool   string
	// Arguments returns the arguments of the service's tool.
	Arguments func(in Query) any
	// Transport sends the request; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// Query is the input of websearch.
type Query struct {
	Query                string `json:"query"`
	NumResults           int    `json:"numResults"`
	Livecrawl            string `json:"livecrawl"`
	Type                 string `json:"type"`
	ContextMaxCharacters int    `json:"contextMaxCharacters"`
}

// The environment variables of the keys.
const (
	ExaKey      = "EXA_API_KEY"
	ParallelKey = "PARALLEL_API_KEY"
)

// NewSearcher returns the service whose key is in the environment, nil if there is no key. WEBSEARCH_PROVIDER selects
// one of two.
func NewSearcher(getenv func(string) string) *Searcher {
	named := cmp.Or(getenv("CAIRN_WEBSEARCH_PROVIDER"), getenv("OPENCODE_WEBSEARCH_PROVIDER"))
	if key := getenv(ExaKey); key != "" && (named != "parallel" || getenv(ParallelKey) == "") {
		return &Searcher{
			Name: "Exa", URL: "https://mcp.exa.ai/mcp", Header: http.Header{"X-Api-Key": {key}}, Tool: "web_search_exa",
			Arguments: func(in Query) any { return in },
		}
	}
	if key := getenv(ParallelKey); key != "" {
		return &Searcher{
			Name: "Parallel", URL: "https://search.parallel.ai/mcp", Header: http.Header{"Authorization": {"Bearer " + key}},
			Tool: "web_search",
			Arguments: func(in Query) any {
				return map[string]any{"objective": in.Query, "search_queries": []string{in.Query}}
			},
		}
	}
	return nil
}

type searchTool struct{ *Searcher }

// Definition describes the tool.
func (t *searchTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "websearch", Description: strings.TrimSpace(searchDescription), Schema: jsontext.Value(searchSchema),
	}
}

// Run searches.
func (t *searchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[Query](call)
	if err != nil {
		return tool.Output{}, err
	}
	in = in.withDefaults()
	err = call.Ask(ctx, tool.Request{
		Action: "websearch", Resources: []string{in.Query}, Save: []string{"*"}, Metadata: tool.EncodeObject(in),
	})
	if err != nil {
		return tool.Output{}, err
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx, searchTime, tool.Failf("%s did not answer within %v.", t.Name, searchTime),
	)
	defer cancel()
	text, err := t.search(ctx, in)
	if err != nil {
		return tool.Output{}, err
	}
	if text == "" {
		text = "Nothing was found. Try other words."
	} else {
		text = tool.MarkUntrusted(call, "websearch", truncateRunes(text, in.ContextMaxCharacters))
	}
	return tool.TextOutput("Web search: "+in.Query, text, map[string]any{"provider": t.Name}), nil
}

func (q Query) withDefaults() Query {
	if q.NumResults == 0 {
		q.NumResults = 8
	}
	if q.Livecrawl == "" {
		q.Livecrawl = "fallback"
	}
	if q.Type == "" {
		q.Type = "auto"
	}
	if q.ContextMaxCharacters == 0 {
		q.ContextMaxCharacters = 10000
	}
	return q
}

// search queries the service. Its errors never contain the key or text of the service.
func (t *searchTool) search(ctx context.Context, q Query) (string, error) {
	// Call the service's tool by MCP, without a handshake: a single request is enough.
	body := tool.EncodeObject(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": t.Tool, "arguments": t.Arguments(q)},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = t.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	// Send it and accept only status 200.
	transport := t.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	res, err := transport.RoundTrip(req) // an http.Client would send the key along with a redirect
	if err != nil {
		return "", describeFetchError(ctx, req.URL, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", tool.Failf("%s answered with status %s.", t.Name, res.Status)
	}
	// Read the response, one byte more than the limit to detect that it is exceeded.
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxFound+1))
	switch {
	case err != nil:
		return "", describeFetchError(ctx, req.URL, err)
	case len(raw) > maxFound:
		return "", tool.Failf("%s answered with more than %d KiB; ask for fewer results.", t.Name, maxFound>>10)
	}
	text, err := parseResults(raw)
	if err != nil {
		return "", tool.Failf("%s: %v.", t.Name, err)
	}
	return text, nil
}

// parseResults returns the text of a response, which is JSON or an event stream.
func parseResults(raw []byte) (string, error) {
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = bytes.TrimSpace(data)
		}
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		if text, done, err := parseMessage(line); done || err != nil {
			return text, err
		}
	}
	text, done, err := parseMessage(raw)
	if err == nil && !done {
		err = errors.New("the answer holds no results")
	}
	return text, err
}

// parseMessage parses one JSON-RPC message; done is false for one that is not the response.
func parseMessage(raw []byte) (text string, done bool, err error) {
	// Only the needed members are declared; servers add others, and their text may be invalid UTF-8.
	var m struct {
		Result *struct {
			Content []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
			IsError bool `json:"isError"`
		} `json:"result"`
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	// Notifications and unreadable messages are skipped: the response may follow.
	if json.Unmarshal(raw, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return "", false, nil
	}
	// The server's error message is not passed on: it is untrusted text.
	switch {
	case m.Error != nil:
		return "", true, errors.New("the search failed")
	case m.Result == nil:
		return "", false, nil
	case m.Result.IsError:
		return "", true, errors.New("the search failed")
	}
	// The result is its text parts; images and resources are left out.
	var texts []string
	for _, c := range m.Result.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n\n"), true, nil
}

// truncateRunes returns the first n characters.
func truncateRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "\n…"
		}
		n--
	}
	return s
}
