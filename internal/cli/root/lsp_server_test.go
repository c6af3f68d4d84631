package root_test

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/sourcegraph/jsonrpc2"
)

// serveLanguage is a language server for scripts: each line with the word BAD is an error.
func serveLanguage() {
	stream := jsonrpc2.NewBufferedStream(stdio{}, jsonrpc2.VSCodeObjectCodec{})
	texts := &languageTexts{byURI: map[string]string{}}
	conn := jsonrpc2.NewConn(context.Background(), stream, jsonrpc2.HandlerWithError(texts.handle))
	<-conn.DisconnectNotify()
}

type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return os.Stdin.Close() }

type languageTexts struct {
	mu    sync.Mutex // guards byURI
	byURI map[string]string
}

func (l *languageTexts) handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var in struct {
		TextDocument struct {
			URI  string `json:"uri"`
			Text string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
	}
	if r.Params != nil {
		_ = json.Unmarshal(*r.Params, &in) // other requests have other members
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Method {
	case "initialize":
		return map[string]any{"capabilities": map[string]any{"textDocumentSync": 1}}, nil
	case "textDocument/didOpen":
		l.byURI[in.TextDocument.URI] = in.TextDocument.Text
	case "textDocument/didChange":
		l.byURI[in.TextDocument.URI] = in.ContentChanges[len(in.ContentChanges)-1].Text
	default:
		return nil, nil
	}
	type position map[string]int
	found := []any{}
	for i, line := range strings.Split(l.byURI[in.TextDocument.URI], "\n") {
		if at := strings.Index(line, "BAD"); at >= 0 {
			found = append(found, map[string]any{
				"severity": 1, "message": "a bad word",
				"range": map[string]any{"start": position{"line": i, "character": at}, "end": position{"line": i, "character": at + 3}},
			})
		}
	}
	return nil, conn.Notify(ctx, "textDocument/publishDiagnostics",
		map[string]any{"uri": in.TextDocument.URI, "diagnostics": found})
}
