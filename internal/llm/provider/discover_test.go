package provider_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestDiscover(t *testing.T) {
	at := func(id string, h http.HandlerFunc) provider.Vendor {
		return provider.Vendor{ID: id, BaseURL: serve(t, h).URL + "/v1"}
	}
	says := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			io.WriteString(w, body)
		}
	}
	elsewhere := at("elsewhere", says(`{"data":[{"id":"m"}]}`))
	moved := at("moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.BaseURL+"/models", http.StatusFound)
	})
	elsewhere.BaseURL = strings.Replace(elsewhere.BaseURL, "127.0.0.1", "localhost", 1)
	hangs := at("hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `{"id":"m%d"},`, i)
	}
	got := provider.Discover(context.Background(), []provider.Vendor{
		at(
			"vllm",
			says(
				`{"object":"list","data":[{"id":"org/model","max_model_len":32768},{"id":"nomic-embed-text"},{"id":""},`+
					`{"id":"a b"},{"id":7},null,"m",{"id":"big","max_model_len":1e40},{"id":"last"}]}`,
			),
		),
		at(
			"llamacpp",
			says(`{"data":[{"id":"q.gguf","meta":{"n_ctx_train":8192}},{"id":"nomic-embed-text"},{"id":""},{"id":"a\u0000b"}]}`),
		),
		at("many", says(`{"data":[`+strings.TrimSuffix(many.String(), ",")+`]}`)), at("page", says(`<html>`)),
		at("other", says(`{"ok":true}`)),
		at("gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }),
		at("long", says(`{"data":[{"id":"`+strings.Repeat("m", 300)+`"}]}`)),
		at("odd", says(`{"data":[{"id":"m","max_model_len":1e40}]}`)), elsewhere, moved, hangs,
		{ID: "closed", BaseURL: "http://127.0.0.1:1/v1"},
		{ID: "cloud", BaseURL: "https://api.openai.com/v1"},
		{ID: "none"},
	})
	if len(got["many"]) != 200 {
		t.Errorf("%d models of one server", len(got["many"]))
	}
	delete(got, "many")
	want := map[string][]provider.LocalModel{ // an invalid entry does not affect the others
		"vllm":     {{ID: "org/model", Context: 32768}, {ID: "last"}},
		"llamacpp": {{ID: "q.gguf", Context: 8192}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDiscoverOtherServers: programs at loopback addresses that never finish, or speak another protocol, offer no
// models.
func TestDiscoverOtherServers(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 16 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	rows := []provider.Vendor{{ID: "no HTTP", BaseURL: "http://" + stranger(t) + "/v1"}}
	for id, h := range map[string]http.HandlerFunc{
		"begins": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"data":[{"id":"m"}`)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
	} {
		rows = append(rows, provider.Vendor{ID: id, BaseURL: serve(t, h).URL + "/v1"})
	}
	if got := provider.Discover(t.Context(), rows); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// stranger returns the address of a program with another protocol.
func stranger(t *testing.T) string {
	t.Helper()
	return accepts(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
		_ = c.Close()
	})
}
