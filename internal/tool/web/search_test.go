package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

func names(c web.Config) (names []string) {
	for _, t := range web.New(c) {
		names = append(names, t.Definition().Name)
	}
	return names
}

func TestSearchNeedsKey(t *testing.T) {
	none := func(string) string { return "" }
	if got := names(web.Config{Search: web.NewSearcher(none)}); !cmp.Equal(got, []string{"webfetch"}) {
		t.Error(got)
	}
	for _, key := range []string{web.ExaKey, web.ParallelKey} {
		s := web.NewSearcher(func(name string) string { return map[string]string{key: "secret"}[name] })
		if got := names(web.Config{Search: s}); !cmp.Equal(got, []string{"webfetch", "websearch"}) ||
			!strings.HasPrefix(s.URL, "https://") {
			t.Error(key, got, s)
		}
	}
}

func TestSearchProvider(t *testing.T) {
	for named, want := range map[string]string{"": "Exa", "exa": "Exa", "parallel": "Parallel"} {
		for _, name := range []string{"CAIRN_WEBSEARCH_PROVIDER", "OPENCODE_WEBSEARCH_PROVIDER"} {
			env := map[string]string{web.ExaKey: "a", web.ParallelKey: "b", name: named}
			if s := web.NewSearcher(func(name string) string { return env[name] }); s.Name != want {
				t.Errorf("%s=%s: %s", name, named, s.Name)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	var sent string
	var header http.Header
	reply := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		sent, header = string(raw), r.Header
		switch reply {
		case "401":
			http.Error(w, "bad key secret", http.StatusUnauthorized)
		case "302":
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusFound)
		default:
			_, _ = io.WriteString(w, reply)
		}
	}))
	defer server.Close()
	w := newWorld(t, page(""))
	w.config.Search = web.NewSearcher(func(name string) string { return map[string]string{web.ExaKey: "secret"}[name] })
	w.config.Search.URL = server.URL
	const found = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one"},{"type":"image"},{"type":"text","text":"two"}]}}`
	for _, tt := range []struct{ reply, want string }{
		{found, "one\n\ntwo"},
		{"event: message\ndata: {\"method\":\"progress\"}\n\nevent: message\ndata: " + found + "\n\n", "one\n\ntwo"},
		{strings.ReplaceAll(found, ",", ",\n  "), "one\n\ntwo"},
		{`{"result":{"content":[]}}`, "Nothing was found. Try other words."},
		{
			`{"result":{"content":[{"type":"text","text":"quota of key secret"}],"isError":true}}`,
			"ERROR Exa: the search failed.",
		},
		{`{"error":{"code":-1,"message":"secret"}}`, "ERROR Exa: the search failed."},
		{"<html>", "ERROR Exa: the answer holds no results."},
		{"", "ERROR Exa: the answer holds no results."},
		{"401", "ERROR Exa answered with status 401 Unauthorized."},
		{"302", "ERROR Exa answered with status 302 Found."},
		{strings.Repeat("x", 300<<10), "ERROR Exa answered with more than 256 KiB; ask for fewer results."},
	} {
		reply = tt.reply
		s := w.run("websearch", map[string]any{"query": "go 1.26", "numResults": 3})
		if got := text(s); got != tt.want || strings.Contains(got, "secret") {
			t.Errorf("%.60q: %q, want %q", tt.reply, got, tt.want)
		}
	}
	want := `{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"query":"go 1.26","numResults":3,"livecrawl":"fallback","type":"auto","contextMaxCharacters":10000},"name":"web_search_exa"}}`
	if diff := cmp.Diff(want, sent); diff != "" || header.Get("X-Api-Key") != "secret" {
		t.Error(diff, header)
	}
	if diff := cmp.Diff([]string{"go 1.26"}, w.asked[0].Resources); diff != "" {
		t.Error(diff)
	}
	reply = found
	if s := w.run("websearch", map[string]any{"query": "x", "contextMaxCharacters": 2}); text(s) != "on\n…" {
		t.Error(text(s))
	}
	w.rules = []session.Rule{{Action: "websearch", Resource: "*", Effect: session.Deny}}
	sent = ""
	if s := w.run("websearch", map[string]any{"query": "x"}); s.Denial == nil || sent != "" {
		t.Error(text(s), sent)
	}
	for _, bad := range []map[string]any{
		{}, {"query": ""}, {"query": "x", "numResults": 21}, {"query": "x", "type": "odd"},
	} {
		if s := w.run("websearch", bad); s.Error == nil || s.Error.Reason != session.ReasonInvalidInput {
			t.Errorf("%v: %s", bad, text(s))
		}
	}
}
