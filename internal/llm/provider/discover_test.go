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

// TestDiscoverSizes: the sizes of models come from the servers' own interfaces.
func TestDiscoverSizes(t *testing.T) {
	answers := map[string]string{
		"/v1/models": `{"data":[{"id":"loaded"},{"id":"set"},{"id":"made"},{"id":"plain"}]}`,
		"/api/ps":    `{"models":[{"name":"loaded","model":"loaded","context_length":4096}]}`,
		"loaded":     `{"model_info":{"qwen3.context_length":40960}}`,
		"set":        `{"parameters":"stop \"x\"\nnum_ctx             8192\n","model_info":{"llama.context_length":131072}}`,
		"made":       `{"model_info":{"general.architecture":"llama","llama.context_length":131072}}`,
		"/api/v0/models": `{"data":[{"id":"loaded","max_context_length":32768,"loaded_context_length":4096},` +
			`{"id":"set","max_context_length":8192},{"id":"made","max_context_length":131072}]}`,
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path
		if key == "/api/show" {
			body, _ := io.ReadAll(r.Body)
			key = strings.Trim(strings.TrimPrefix(string(body), `{"model":`), `"}`)
		}
		if answers[key] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, answers[key])
	})
	host := provider.Lookup{Env: func(string) string { return strings.TrimPrefix(s.URL, "http://") }}
	ollama, _ := provider.Find("ollama")
	ollama, err := ollama.ResolveBaseURL(host)
	if err != nil {
		t.Fatal(err)
	}
	lmstudio, _ := provider.Find("lmstudio")
	lmstudio.BaseURL = s.URL + "/v1"
	got := provider.Discover(t.Context(), []provider.Vendor{ollama, lmstudio})
	sizes := []provider.LocalModel{{"loaded", 4096}, {"set", 8192}, {"made", 131072}, {ID: "plain"}}
	if diff := cmp.Diff(map[string][]provider.LocalModel{"ollama": sizes, "lmstudio": sizes}, got); diff != "" {
		t.Error(diff)
	}
}

// TestOllamaHost: OLLAMA_HOST has the forms that Ollama's own clients read.
func TestOllamaHost(t *testing.T) {
	row, _ := provider.Find("ollama")
	for value, want := range map[string]string{
		"": "http://127.0.0.1:11434", "0.0.0.0": "http://127.0.0.1:11434", ":8000": "http://127.0.0.1:8000",
		"gpu.lan": "http://gpu.lan:11434", "10.0.0.7:1": "http://10.0.0.7:1", "[::]:9": "http://127.0.0.1:9",
		"[fd00::7]": "http://[fd00::7]:11434", "https://gpu.lan/ollama/": "https://gpu.lan:443/ollama",
		"http://gpu.lan": "http://gpu.lan:80", "http://gpu.lan:7": "http://gpu.lan:7",
	} {
		got, err := row.ResolveBaseURL(provider.Lookup{Env: func(string) string { return value }})
		if err != nil || got.BaseURL != want+"/v1" {
			t.Errorf("%q: %s %v, want %s/v1", value, got.BaseURL, err, want)
		}
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
