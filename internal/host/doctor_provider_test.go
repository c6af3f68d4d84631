package host

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const probeKey = "canary-key-0123456789"

// probed returns what Probe says, a line for each finding, about a provider whose server is h.
func probed(t *testing.T, h http.HandlerFunc, options string) string {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	home := t.TempDir()
	write(t, filepath.Join(home, "project", ".keep"), "")
	write(
		t,
		filepath.Join(home, "config", "cairn.jsonc"),
		fmt.Sprintf(
			`{"provider": {"mine": {"options": {"baseURL": %q%s}, "models": {"m": {"cost": {"input": 1, "output": 2}}}}}}`,
			s.URL+"/v1",
			options,
		),
	)
	return checkProvider(t, home, "mine")
}

func checkProvider(t *testing.T, home, id string) string {
	t.Helper()
	found, err := Host{}.Probe(t.Context(), optionsOf(home), id)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, f := range found {
		fmt.Fprintf(&out, "%s %s: %s (%s)\n", f.Level, f.What, f.Detail, f.Fix)
	}
	if strings.Contains(out.String(), probeKey) {
		t.Errorf("the key is shown:\n%s", &out)
	}
	return out.String()
}

// vendorOf answers requests for models so, and others with the time of its clock.
func vendorOf(status int, body string, clock time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(clock).UTC().Format(http.TimeFormat))
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestProbe(t *testing.T) {
	const good = `data: {"choices":[{"delta":{"content":"ok"}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":1}}` +
		"\n\ndata: [DONE]\n\n"
	const key = `, "apiKey": "` + probeKey + `"`
	tests := []struct {
		name, options string
		h             http.HandlerFunc
		want          []string
	}{
		{
			"all is well",
			key,
			vendorOf(200, good, 0),
			[]string{
				"ok address: http://127.0.0.1",
				"ok key: in the configuration",
				"ok server: 127.0.0.1",
				"ok clock: agrees",
				"ok answer: mine/m answers within",
				"for $0.000006",
			},
		},
		{"no key needed", "", vendorOf(200, good, 0), []string{"note key: not set", "ok answer"}},
		{
			"thinks too long",
			key,
			vendorOf(200, `data: {"choices":[{"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n", 0),
			[]string{"ok answer"},
		},
		{
			"nothing",
			key,
			vendorOf(200, "", 0),
			[]string{
				"error answer: mine/m does not answer: the provider accepted the request but sent no answer",
				"try again later",
			},
		},
		{
			"nothing in it",
			key,
			vendorOf(200, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", 0),
			[]string{"error answer: mine/m does not answer: the provider sent an answer without text"},
		},
		{
			"declined",
			key,
			vendorOf(
				200,
				`data: {"choices":[{"delta":{"content":"I"},"finish_reason":"content_filter"}]}`+"\n\ndata: [DONE]\n\n",
				0,
			),
			[]string{"error answer: mine/m declines to answer"},
		},
		{
			"clock behind",
			key,
			vendorOf(200, good, time.Hour),
			[]string{"warning clock: this machine's is 1h0m", "behind", "set the time"},
		},
		{"clock ahead", key, vendorOf(200, good, -time.Hour), []string{"warning clock", "ahead"}},
		{
			"refused key",
			key,
			vendorOf(401, `{"error":{"message":"bad key `+probeKey+`"}}`, 0),
			[]string{"error answer: mine/m does not answer: bad key", "cairn auth login mine"},
		},
		{"no credit", key, vendorOf(402, `{}`, 0), []string{"error answer", "no credit left"}},
		{
			"too many",
			key,
			vendorOf(429, `{"error":{"message":"slow down"}}`, 0),
			[]string{"error answer", "asks to wait 2h0m0s"},
		},
		{
			"no such model",
			key,
			vendorOf(404, `{"error":{"message":"no such model"}}`, 0),
			[]string{"error answer", "no such model", "cairn models mine"},
		},
		{"trouble", key, vendorOf(503, `{}`, 0), []string{"error answer", "try again later"}},
		{"a configured key", key, vendorOf(403, `{}`, 0), []string{"change options.apiKey of provider.mine"}},
		{
			"a login page",
			key,
			vendorOf(200, `<html>Welcome</html>`, 0),
			[]string{"error answer", "a login page of this network"},
		},
		{
			"a gate",
			key,
			vendorOf(511, `<html>Welcome</html>`, 0),
			[]string{"error answer", "requires a login: open any page"},
		},
		{"a way elsewhere", key, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://portal.example/login", http.StatusFound)
		}, []string{"redirects to http://portal.example", "open any page in a browser"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := probed(t, tt.h, tt.options)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not said:\n%s", want, got)
				}
			}
		})
	}
}

func TestProbeWithoutServer(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "project", ".keep"), "")
	write(
		t,
		filepath.Join(home, "config", "cairn.jsonc"),
		`{"disabled_providers": ["groq"], "provider": {"mine": {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"m": {}}}}}`,
	)
	for _, tt := range []struct{ id, want string }{
		{"mine", "error server: cannot reach 127.0.0.1:1: connection refused"},
		{"", "error server: cannot reach 127.0.0.1:1"}, // the one that a session would use
		{"groq", "error provider: groq is disabled"},
		{"azure", "error address: provider \"azure\" needs its resourceName"},
		{"opnai", "openai"},
	} {
		if got := checkProvider(t, home, tt.id); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.id, got, tt.want)
		}
	}
	if got := checkProvider(t, home, "mine"); strings.Contains(got, "answer") {
		t.Errorf("a server that cannot be reached is asked:\n%s", got)
	}
}

// TestFacts: what was fetched counts for the next catalog, also in a process that is at work; offline, nothing is
// fetched.
func TestFacts(t *testing.T) {
	var asked int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		io.WriteString(
			w,
			`{"groq":{"name":"Groq","env":["GROQ_API_KEY"],"npm":"@ai-sdk/groq","models":{"fresh":{"name":"M"}}}}`,
		)
	}))
	defer s.Close()
	home := t.TempDir()
	write(t, filepath.Join(home, "project", ".keep"), "")
	o := optionsOf(home)
	plain := o.Env
	o.Env = func(name string) string {
		switch name {
		case "CAIRN_MODELS_URL":
			return s.URL
		case "GROQ_API_KEY":
			return probeKey
		case "CAIRN_DISABLE_MODELS_FETCH":
			return ""
		}
		return plain(name)
	}
	c := open(t, o)
	defer closeIt(t, c)
	has := func() bool {
		list, err := c.API.Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Data {
			if m.ProviderID == "groq" && m.ID == "fresh" {
				return true
			}
		}
		return false
	}
	if has() {
		t.Error("it is known before it is fetched")
	}
	if changed, err := (Host{}).RefreshModels(t.Context(), o); err != nil || !changed || !has() {
		t.Errorf("%v %v, and %v", changed, err, has())
	}
	if err := os.WriteFile(filepath.Join(home, "cache", "models.json"), []byte("{"), 0o600); err != nil || has() {
		t.Errorf("a broken cache: %v, and %v", err, has())
	}
	before := asked
	if _, err := (Host{}).RefreshModels(t.Context(), optionsOf(home)); err == nil ||
		!strings.Contains(err.Error(), "CAIRN_DISABLE_MODELS_FETCH") ||
		asked != before {
		t.Errorf("offline: %v, asked %d times more", err, asked-before)
	}
}
