package provider_test

import (
	"context"
	"fmt"
	"io"
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
		at("vllm", says(`{"object":"list","data":[{"id":"org/model","max_model_len":32768},{"id":"nomic-embed-text"},{"id":""},{"id":"a b"},{"id":7}]}`)),
		at("llamacpp", says(`{"data":[{"id":"q.gguf","meta":{"n_ctx_train":8192}},{"id":"nomic-embed-text"},{"id":""},{"id":"a\u0000b"}]}`)),
		at("many", says(`{"data":[`+strings.TrimSuffix(many.String(), ",")+`]}`)),
		at("page", says(`<html>`)), at("other", says(`{"ok":true}`)), at("gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }),
		elsewhere, moved, hangs,
		{ID: "nobody", BaseURL: "http://127.0.0.1:1/v1"},
		{ID: "cloud", BaseURL: "https://api.openai.com/v1"},
		{ID: "none"},
	})
	if len(got["many"]) != 200 {
		t.Errorf("%d models of one server", len(got["many"]))
	}
	delete(got, "many")
	want := map[string][]provider.Found{"llamacpp": {{ID: "q.gguf", Context: 8192}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
