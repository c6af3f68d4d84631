package provider_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestGitHubLogin(t *testing.T) {
	polls := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Form.Get("client_id") != "Iv1.x":
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":"invalid_client","error_description":"who?"}`)
		case r.URL.Path == "/login/device/code":
			io.WriteString(
				w,
				`{"device_code":"d","user_code":"AB-12","verification_uri":"https://github.com/login/device","expires_in":900,`+
					`"interval":1}`,
			)
		case r.URL.Path == "/login/oauth/access_token" && r.Form.Get("device_code") == "d":
			if polls++; polls == 1 { // with 200, against the standard
				io.WriteString(w, `{"error":"authorization_pending"}`)
				return
			}
			io.WriteString(w, `{"access_token":"gho_1","token_type":"bearer"}`)
		}
	})
	var said string
	l := provider.Login{
		Client: http.DefaultClient, Base: s.URL, ClientID: "Iv1.x", Show: func(url, code string) { said = url + " " + code },
	}
	if token, err := l.GitHub(t.Context()); err != nil || token != "gho_1" ||
		said != "https://github.com/login/device AB-12" || polls != 2 {
		t.Errorf("%s %v %s after %d", token, err, said, polls)
	}
	l.ClientID = "other"
	if _, err := l.GitHub(t.Context()); err == nil || !strings.Contains(err.Error(), "who?") {
		t.Error(err)
	}
	l.ClientID = ""
	if _, err := l.GitHub(t.Context()); err == nil || !strings.Contains(err.Error(), "clientId") {
		t.Error(err)
	}
}

func TestOpenRouterLogin(t *testing.T) {
	var challenge string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Code     string `json:"code"`
			Verifier string `json:"code_verifier"`
		}
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &in)
		sum := sha256.Sum256([]byte(in.Verifier))
		if r.URL.Path != "/api/v1/auth/keys" || in.Code != "c-1" ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != challenge {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		io.WriteString(w, `{"key":"sk-or-1"}`)
	})
	for _, tt := range []struct{ code, key, want string }{{"c-1", "sk-or-1", ""}, {"other", "", "HTTP 403"}} {
		l := provider.Login{Client: http.DefaultClient, Base: s.URL, Listen: "127.0.0.1:0", Show: func(where, _ string) {
			to, err := url.Parse(where)
			if err != nil {
				t.Error(err)
				return
			}
			challenge = to.Query().Get("code_challenge")
			back := strings.Replace(to.Query().Get("callback_url"), "localhost", "127.0.0.1", 1)
			for _, path := range []string{
				strings.TrimSuffix(back, "/callback") + "/favicon.ico", back, back + "?code=" + tt.code,
			} { // as browsers ask
				resp, err := http.Get(path)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			}
		}}
		key, err := l.OpenRouter(t.Context())
		if key != tt.key || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s %v", tt.code, key, err)
		}
	}
}

// TestOpenRouterCallbackPath: only an answer at the secret path counts, whatever arrives first.
func TestOpenRouterCallbackPath(t *testing.T) {
	for name, tt := range map[string]struct{ asks, want string }{
		"denied":  {"?error=access_denied", "access was denied"},
		"unclear": {"?error=server_error&error_description=try%20later", "try later"},
		"a code":  {"?code=c-1", "HTTP 404"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		l := provider.Login{Client: http.DefaultClient, Base: s.URL, Listen: "127.0.0.1:0", Show: func(where, _ string) {
			to, err := url.Parse(where)
			if err != nil {
				t.Error(err)
				return
			}
			back := strings.Replace(to.Query().Get("callback_url"), "localhost", "127.0.0.1", 1)
			origin := back[:strings.Index(back, "/callback")]
			for _, foreign := range []string{
				"/?code=evil", "/callback?code=evil", "/callback/?code=evil", "/callback/x?code=evil",
				"/callback?error=access_denied",
			} {
				if status := get(t, origin+foreign); status != http.StatusNotFound {
					t.Errorf("an answer at %s is accepted: %d", foreign, status)
				}
			}
			if status := get(t, back+tt.asks); status != http.StatusOK {
				t.Errorf("%s: %d", back, status)
			}
		}}
		if _, err := l.OpenRouter(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func get(t *testing.T, where string) int {
	t.Helper()
	resp, err := http.Get(where)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestOpenRouterPortInUse: a browser may resolve localhost to either loopback address, so the port must be free at
// both.
func TestOpenRouterPortInUse(t *testing.T) {
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is one loopback address: ", err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	l := provider.Login{
		Client: http.DefaultClient, Base: "http://127.0.0.1:1", Listen: "127.0.0.1:" + port,
		Show: func(string, string) { t.Error("the login shows a URL") },
	}
	if _, err := l.OpenRouter(t.Context()); err == nil || !strings.Contains(err.Error(), "needs port 3000") {
		t.Error(err)
	}
	left := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	l.Listen, l.Show = "127.0.0.1:0", func(string, string) { cancel(left) }
	if _, err := l.OpenRouter(ctx); !errors.Is(err, left) {
		t.Errorf("after cancellation: %v", err)
	}
}

// TestOpenRouterBadAnswers: whatever the server answers to the code, the code is sent once and to no other host, and
// the answer's text does not reach the terminal.
func TestOpenRouterBadAnswers(t *testing.T) {
	evil := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the code was sent to another host") })
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, evil.URL, http.StatusTemporaryRedirect)
		}, "HTTP 307"},
		"huge":          {say(`{"key":"` + strings.Repeat("x", 4<<20) + `"}`), "contains no key"},
		"empty":         {say(`{"key":""}`), "contains no key"},
		"another kind":  {say(`{"key":["hunter2"]}`), "contains no key"},
		"cut off":       {reset(`{"key":"hunter2`), "contains no key"},
		"server error":  {refuse(http.StatusBadGateway, `hunter2`), "HTTP 502"},
		"code was used": {refuse(http.StatusBadRequest, `{"error":"invalid_grant"}`), "HTTP 400"},
	} {
		asked := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { asked++; tt.h(w, r) })
		l := provider.Login{
			Client: &http.Client{CheckRedirect: provider.SameOrigin}, Base: s.URL, Listen: "127.0.0.1:0",
			Show: func(where, _ string) {
				to, err := url.Parse(where)
				if err != nil {
					t.Error(err)
					return
				}
				back := strings.Replace(to.Query().Get("callback_url"), "localhost", "127.0.0.1", 1)
				for range 3 { // a browser that loads the page again
					get(t, back+"?code=c-1")
				}
			},
		}
		key, err := l.OpenRouter(t.Context())
		if key != "" || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") ||
			asked != 1 {
			t.Errorf("%s: %q %v, asked %d times", name, key, err, asked)
		}
	}
}
