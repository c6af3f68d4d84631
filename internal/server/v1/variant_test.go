package v1_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// asked is a model that says the same to all, and keeps the effort that each conversation was to take.
func asked(t *testing.T) (url string, efforts func() string) {
	t.Helper()
	var mu sync.Mutex
	var said []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v struct {
			Effort string `json:"reasoning_effort"`
			Tools  []any  `json:"tools"`
		}
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(b, &v)
		}
		if err != nil {
			t.Error(err)
		}
		if len(v.Tools) > 0 { // else it is about a title
			mu.Lock()
			said = append(said, v.Effort)
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": "Hello."}, nil)
		say(w, map[string]any{}, "stop")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(said, " ")
		said = nil
		return all
	}
}

// A prompt and a command may name a variant and leave the model open: it is one of the model that answers. The next
// prompt takes it up only if it says so too.
func TestAVariantNeedsNoModel(t *testing.T) {
	url, efforts := asked(t)
	w := newWorldOf(
		t,
		url,
		`, "command": {"hi": {"template": "Hi"}, "there": {"template": "Hi", "model": "mock/main"}}`,
		nil,
	)
	prompt := `"parts":[{"type":"text","text":"hi"}]}`
	for name, c := range map[string]struct{ path, body string }{
		"message":      {"/message", `{"variant":"high",` + prompt},
		"asynchronous": {"/prompt_async", `{"variant":"high",` + prompt},
		"with a model": {"/message", `{"variant":"high","model":{"providerID":"mock","modelID":"main"},` +
			prompt},
		"instead of the model's": {
			"/message",
			`{"variant":"high","model":{"providerID":"mock","modelID":"main","variant":"low"},` + prompt,
		},
		"command": {"/command", `{"command":"hi","arguments":"","variant":"high"}`},
		"command with a model": {
			"/command",
			`{"command":"hi","arguments":"","model":"mock/main","variant":"high"}`,
		},
		"command that names itself": {"/command", `{"command":"there","arguments":"","variant":"high"}`},
	} {
		t.Run(name, func(t *testing.T) {
			at := "/session/" + newSession(t, w, `{"title":"x"}`)
			if a := w.ask(t, http.MethodPost, at+c.path, c.body); a.status >= 300 {
				t.Fatal(a.body)
			}
			w.ask(t, http.MethodPost, "/api"+at+"/wait", "")
			if got := efforts(); got != "high" {
				t.Errorf("the model was to take %q", got)
			}
			all := w.ask(t, http.MethodGet, at+"/message", "").body
			if !strings.Contains(all, `"model":{"providerID":"mock","modelID":"main","variant":"high"}`) ||
				strings.Count(all, `"variant":"high"`) != 2 {
				t.Errorf("the messages are %s", all)
			}
			if s := w.ask(t, http.MethodGet, at, "").body; !strings.Contains(s, `"variant":"high"`) {
				t.Errorf("the session is %s", s)
			}
			if a := w.ask(t, http.MethodPost, at+"/message", `{`+prompt); a.status != http.StatusOK ||
				strings.Contains(a.body, "variant") {
				t.Errorf("the next prompt: %d %s", a.status, a.body)
			}
			if got := efforts(); got != "" {
				t.Errorf("with the next prompt the model was to take %q", got)
			}
		})
	}
}

// A variant that the model does not have is a mistake in the body.
func TestAnUnknownVariant(t *testing.T) {
	w := newWorldOf(t, answering(t), `, "command": {"hi": {"template": "Hi"}}`, nil)
	at := "/session/" + newSession(t, w, `{"title":"x"}`)
	for path, body := range map[string]string{
		"/message":      `{"variant":"hihg","parts":[{"type":"text","text":"hi"}]}`,
		"/prompt_async": `{"variant":"hihg","model":{"providerID":"mock","modelID":"main"},"parts":[{"type":"text","text":"hi"}]}`,
		"/command":      `{"command":"hi","arguments":"","variant":"hihg"}`,
	} {
		if a := w.ask(t, http.MethodPost, at+path, body); a.status != http.StatusBadRequest ||
			!strings.Contains(a.body, `[\"variant\"]`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
