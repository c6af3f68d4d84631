package replay_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/replay"
)

const secret = "canary-key-0123456789"

func post(tb testing.TB, rt http.RoundTripper, url, body string) (*http.Response, string, error) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Api-Key", secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp, string(data), nil
}

// echo answers with the body it got, twice, in two pieces, and an own secret header.
func echo(tb testing.TB) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "session=cookie-value-123")
		w.Header().Set("X-Request-Id", "r1")
		if r.Header.Get("X-Api-Key") != secret {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Write(body)
		http.NewResponseController(w).Flush()
		w.Write(body)
	}))
	tb.Cleanup(s.Close)
	return s
}

func TestRecordAndPlay(t *testing.T) {
	s := echo(t)
	path := filepath.Join(t.TempDir(), "tape.json")
	rec := replay.NewRecorder(path, http.DefaultTransport)
	bodies := []string{
		`{"n":1,"api_key":"` + secret + `","note":"{\"password\":\"hunter2\"}","signature":"kept"}`,
		`{"n":2,"token_count":"kept"}`, "\xff\xfe binary", `{"n":1}`,
	}
	address := s.URL + "/v1/chat?api_key=" + secret + "&x=1"
	var answers []string
	for _, body := range bodies {
		resp, answer, err := post(t, rec, address, body)
		if err != nil || resp.StatusCode != 200 || answer != body+body {
			t.Fatalf("through the recorder: %v %q", err, answer)
		}
		answers = append(answers, answer)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path)

	player, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 0, 2, 3} { // two requests that ran side by side may come in another order
		resp, answer, err := post(t, player, "http://elsewhere.test/v1/chat", bodies[i])
		want := answers[i]
		if i == 0 {
			want = strings.NewReplacer(secret, "[redacted]", "hunter2", "[redacted]").Replace(want)
		}
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") != "r1" || answer != want {
			t.Errorf("%d: %v %q, want %q", i, err, answer, want)
		}
	}
	if _, _, err := post(t, player, address, bodies[3]); err == nil ||
		!strings.Contains(err.Error(), "ends here: all 4 exchanges have been played") {
		t.Errorf("one more: %v", err)
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{secret, "hunter2", "cookie-value", "Bearer"} {
		if strings.Contains(string(data), gone) {
			t.Errorf("%q is in the cassette:\n%s", gone, data)
		}
	}
	if n := strings.Count(string(data), "kept"); n != 6 {
		t.Errorf("%d of 6 harmless values are left:\n%s", n, data)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("temporary files are left: %v", files)
	}
}

func TestRecorderKeepsWhatWasRead(t *testing.T) {
	s := echo(t)
	path := filepath.Join(t.TempDir(), "tape.json")
	rec := replay.NewRecorder(path, http.DefaultTransport)
	req, _ := http.NewRequest(http.MethodPost, s.URL, strings.NewReader(`{"n":1}`))
	resp, err := rec.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(resp.Body, make([]byte, 3))
	resp.Body.Close() // the consumer leaves in the middle
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"status": 401`) {
		t.Errorf("%v %s", err, data)
	}
}

func TestRecorderTrouble(t *testing.T) {
	s := echo(t)
	rec := replay.NewRecorder(filepath.Join(t.TempDir(), "missing", "tape.json"), http.DefaultTransport)
	if _, answer, err := post(t, rec, s.URL, "x"); err != nil || answer != "xx" {
		t.Errorf("the traffic was disturbed: %v %q", err, answer)
	}
	if rec.Close() == nil {
		t.Error("Close does not report that nothing was written")
	}
}

const tape = `{"version":1,"metadata":{"name":"x"},"interactions":[{"transport":"http",
 "request":{"method":"POST","url":"https://h/accounts/{account}/v1/chat","headers":{},"body":"{\"model\":\"m\",\"prompt_cache_key\":\"a\",\"messages\":[{\"role\":\"system\",\"content\":\"Monday\"},{\"role\":\"user\",\"content\":\"hi\"}]}"},
 "response":{"status":200,"headers":{"content-type":"text/event-stream"},"body":"b2s=","bodyEncoding":"base64"}}]}`

func TestMatching(t *testing.T) {
	const at = "http://127.0.0.1:9/accounts/42/v1/chat"
	tests := []struct {
		name, url, body string
		want            string // part of the error; empty for a match
	}{
		{"same", at, `{"model":"m","messages":[{"role":"system","content":"Monday"},{"role":"user","content":"hi"}]}`, ""},
		{
			"other order, other cache key", at,
			`{"messages":[{"content":"Monday","role":"system"},{"content":"hi","role":"user"}],` +
				`"prompt_cache_key":"b","model":"m"}`,
			"",
		},
		{
			"other system text", at,
			`{"model":"m","messages":[{"role":"system","content":"Tuesday"},{"role":"user","content":"hi"}]}`, "",
		},
		{
			"other user text", at,
			`{"model":"m","messages":[{"role":"system","content":"Monday"},{"role":"user","content":"ho"}]}`,
			`exchange 1, and its body has "hi" at /messages/1/content, not "ho"`,
		},
		{
			"more messages", at, `{"model":"m","messages":[{"role":"system","content":"Monday"}]}`,
			`2 entries at /messages, not 1`,
		},
		{
			"new field", at,
			`{"model":"m","seed":1,"messages":[{"role":"system","content":"Monday"},{"role":"user","content":"hi"}]}`,
			`nothing at /seed, not 1`,
		},
		{
			"field gone", at, `{"messages":[{"role":"system","content":"Monday"},{"role":"user","content":"hi"}]}`,
			`"m" at /model, not nothing`,
		},
		{
			"other path", "http://h/v1/other", `{}`,
			"it was POST https://h/accounts/{account}/v1/chat, not POST http://h/v1/other",
		},
		{"not JSON", at, `x`, "its body is different"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tape.json")
			if err := os.WriteFile(path, []byte(tape), 0o600); err != nil {
				t.Fatal(err)
			}
			player, err := replay.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			_, answer, err := post(t, player, tt.url, tt.body)
			if tt.want == "" {
				if err != nil || answer != "ok" {
					t.Errorf("%v %q", err, answer)
				}
				return
			}
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.IsRetryable() || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := map[string]string{
		"not JSON":      `hello`,
		"other version": `{"version":2,"interactions":[]}`,
		"bad encoding":  `{"version":1,"interactions":[{"response":{"body":"x","bodyEncoding":"rot13"}}]}`,
		"bad base64":    `{"version":1,"interactions":[{"response":{"body":"!","bodyEncoding":"base64"}}]}`,
	}
	for name, content := range tests {
		path := filepath.Join(t.TempDir(), "tape.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replay.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := replay.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
