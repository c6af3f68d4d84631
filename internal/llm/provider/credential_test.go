package provider_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// tokenServer issues token-1, token-2 … and records the requests.
func tokenServer(tb testing.TB, answer func(n int32) string, status int) (string, *atomic.Int32, *atomic.Value) {
	tb.Helper()
	var n atomic.Int32
	var asked atomic.Value
	s := serve(tb, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(r.Header.Get("Authorization") + " " + string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer(n.Add(1)))
	})
	return s.URL, &n, &asked
}

func oauthAnswer(n int32) string {
	return fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, n)
}

func TestGoogle(t *testing.T) {
	url, n, asked := tokenServer(t, oauthAnswer, http.StatusOK)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	account, _ := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@p", "private_key": string(block), "token_uri": url,
	})
	user := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r-1","token_uri":"` + url +
		`"}`
	dir := t.TempDir()
	for i, tt := range []struct{ file, sent string }{
		{write(t, dir, "account.json", string(account)), "grant-type%3Ajwt-bearer"},
		{write(t, dir, "user.json", user), "refresh_token=r-1"},
	} {
		n.Store(0)
		g := &provider.Google{Getenv: env("GOOGLE_APPLICATION_CREDENTIALS", tt.file), Client: http.DefaultClient}
		r := httpRequest(t)
		for range 2 {
			if err := g.Authorize(t.Context(), r, nil); err != nil {
				t.Fatal(i, err)
			}
		}
		if r.Header.Get("Authorization") != "Bearer token-1" || n.Load() != 1 ||
			!strings.Contains(asked.Load().(string), tt.sent) || !g.HasCredentials() {
			t.Errorf("%d: %v after %d, %v", i, r.Header, n.Load(), asked.Load())
		}
		if again, err := g.Renew(t.Context(), r); err != nil || !again {
			t.Errorf("%d: %v %v", i, again, err)
		}
		if err := g.Authorize(t.Context(), r, nil); err != nil || r.Header.Get("Authorization") != "Bearer token-2" {
			t.Errorf("%d: %v %v", i, r.Header, err)
		}
	}
}

func TestGoogleRefuses(t *testing.T) {
	url, _, _ := tokenServer(
		t, func(int32) string { return `{"error":"invalid_grant","error_description":"expired"}` }, http.StatusBadRequest,
	)
	dir := t.TempDir()
	for _, tt := range []struct{ text, want string }{
		{`{"type":"external_account","credential_source":{"executable":{"command":"x"}}}`, "external_account"},
		{`{"type": "` + secret, "not a JSON object"},
		{
			`{"type":"authorized_user","client_id":"c","client_secret":"` + secret + `","refresh_token":"` + secret +
				`","token_uri":"` + url + `"}`,
			"expired; log in again",
		},
	} {
		g := &provider.Google{
			Getenv: env("GOOGLE_APPLICATION_CREDENTIALS", write(t, dir, "c.json", tt.text)), Client: http.DefaultClient,
		}
		err := g.Authorize(t.Context(), httpRequest(t), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", tt.want, err)
		}
	}
	for _, tt := range []struct {
		status       int
		answer, want string
		again        bool
	}{
		{503, `{"error":"server_error"}`, "issued no token; try again later", true},
		{429, `<html>`, "issued no token; try again later", true},
		{400, `{"error":"invalid_grant"}`, "log in again: gcloud", false},
		{403, `<html>a hotel`, "not from a token server", false},
		{307, ``, "not from a token server", false},
		{200, `{}`, "issued no token", false},
		{200, strings.Repeat("x", 3<<20), "issued no token", false},
	} {
		url, n, _ := tokenServer(t, func(int32) string { return tt.answer }, tt.status)
		g := &provider.Google{
			Getenv: env(
				"GOOGLE_APPLICATION_CREDENTIALS",
				write(t, dir, "c.json", `{"type":"authorized_user","refresh_token":"`+secret+`","token_uri":"`+url+`"}`),
			),
			Client: &http.Client{CheckRedirect: provider.SameOrigin},
		}
		err := g.Authorize(t.Context(), httpRequest(t), nil)
		e, is := errors.AsType[*llm.Error](err)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) ||
			(is && e.IsRetryable()) != tt.again || n.Load() != 1 {
			t.Errorf("%d %.20s: %.300v, asked %d times", tt.status, tt.answer, err, n.Load())
		}
	}
	none := &provider.Google{Getenv: env("HOME", dir), Client: http.DefaultClient}
	if err := none.Authorize(t.Context(), httpRequest(t), nil); err == nil || none.HasCredentials() ||
		!strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Error(err)
	}
}

func httpRequest(tb testing.TB) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "https://h/", http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestCopilot(t *testing.T) {
	soon := time.Now().Add(time.Hour).Unix()
	url, n, asked := tokenServer(
		t, func(n int32) string { return fmt.Sprintf(`{"token":"token-%d","expires_at":%d}`, n, soon) }, http.StatusOK,
	)
	c := &provider.Copilot{GitHub: "gho_1", Client: http.DefaultClient, API: url}
	refuse := atomic.Bool{}
	var heads []http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		heads = append(heads, r.Header)
		if refuse.Swap(false) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, hello+stop+done)
	})
	v, _ := provider.Find("github-copilot")
	v.BaseURL = s.URL
	m, err := provider.New(provider.Config{Vendor: v, Credential: c})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err != nil || out.text != "hello" {
		t.Fatalf("%+v", out)
	}
	if heads[0].Get("Authorization") != "Bearer token-1" || heads[0].Get("X-Initiator") != "user" ||
		heads[0].Get("Copilot-Vision-Request") != "" {
		t.Errorf("%v", heads[0])
	}
	if !strings.HasPrefix(asked.Load().(string), "token gho_1") {
		t.Errorf("%v", asked.Load())
	}
	refuse.Store(true)
	req := request()
	req.Messages[0].Parts = append(req.Messages[0].Parts, llm.Media{MediaType: "image/png", Data: []byte{1}})
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "ok"}}})
	if out := stream(t.Context(), m, req); out.err != nil || n.Load() != 2 {
		t.Fatalf("%+v after %d tokens", out, n.Load())
	}
	last := heads[len(heads)-1]
	if len(heads) != 3 || last.Get("Authorization") != "Bearer token-2" || last.Get("X-Initiator") != "agent" ||
		last.Get("Copilot-Vision-Request") != "true" {
		t.Errorf("%d requests, %v", len(heads), last)
	}
}

func TestCopilotWithoutExchange(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   string // the token, or a part of the error
	}{
		{http.StatusNotFound, `{}`, "gho_1"},
		{http.StatusForbidden, `{"message":"no"}`, "gho_1"},
		{http.StatusUnauthorized, `{}`, "cairn auth login github-copilot"},
		{http.StatusBadGateway, `<html>`, "currently issues no tokens"},
		{http.StatusOK, `{"token":` + secret, "contains no Copilot token"},
	} {
		url, _, _ := tokenServer(t, func(int32) string { return tt.body }, tt.status)
		r := httpRequest(t)
		err := (&provider.Copilot{GitHub: "gho_1", Client: http.DefaultClient, API: url}).Authorize(t.Context(), r, nil)
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, secret) {
			t.Errorf("HTTP %d: %s, want %s", tt.status, got, tt.want)
		}
	}
}

// TestRenewOnce: if the vendor rejects the renewed token too, the turn fails.
func TestRenewOnce(t *testing.T) {
	url, n, _ := tokenServer(t, func(n int32) string {
		return fmt.Sprintf(`{"token":"token-%d","expires_at":%d}`, n, time.Now().Add(time.Hour).Unix())
	}, http.StatusOK)
	var asked atomic.Int32
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})
	v := provider.NewCompatible("x", "X", s.URL)
	m, err := provider.New(provider.Config{
		Vendor: v, Credential: &provider.Copilot{GitHub: "gho_1", Client: http.DefaultClient, API: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.Auth || asked.Load() != 2 ||
		n.Load() != 2 {
		t.Errorf("%+v after %d requests and %d tokens", out, asked.Load(), n.Load())
	}
}

// TestGoogleElsewhere: the metadata server of a machine, and the identity of another cloud, alone or for a service
// account.
func TestGoogleElsewhere(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/service-accounts/default/token") &&
			r.Header.Get("Metadata-Flavor") == "Google":
			fmt.Fprint(w, `{"access_token":"from-metadata","expires_in":3600,"token_type":"Bearer"}`)
		case r.URL.Path == "/sts" && strings.Contains(string(body), "subject_token=pod-identity"):
			fmt.Fprint(w, `{"access_token":"federated","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",`+
				`"token_type":"Bearer","expires_in":3600}`)
		case r.URL.Path == "/impersonate" && r.Header.Get("Authorization") == "Bearer federated":
			expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			fmt.Fprintf(w, `{"accessToken":"impersonated","expireTime":%q}`, expires)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":"access_denied","error_description":"no"}`)
		}
	})
	home := t.TempDir()
	subject := write(t, home, "subject", "pod-identity")
	external := func(name, subject, more string) func(string) string {
		path := write(t, home, name, `{"type":"external_account","audience":"//iam.googleapis.com/projects/1/x",`+
			`"subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"`+s.URL+`/sts",`+more+
			`"credential_source":{"file":"`+subject+`"}}`)
		return env("HOME", home, "GOOGLE_APPLICATION_CREDENTIALS", path)
	}
	host := strings.TrimPrefix(s.URL, "http://")
	t.Setenv("GCE_METADATA_HOST", host)
	for name, c := range map[string]struct {
		getenv func(string) string
		token  string // "": refused
	}{
		"metadata server": {env("HOME", home, "GCE_METADATA_HOST", host), "from-metadata"},
		"federation":      {external("plain.json", subject, ""), "federated"},
		"for an account": {
			external("account.json", subject, `"service_account_impersonation_url":"`+s.URL+`/impersonate",`), "impersonated",
		},
		"refused": {external("refused.json", write(t, home, "other", "other"), ""), ""},
		"broken":  {env("GOOGLE_APPLICATION_CREDENTIALS", write(t, home, "b.json", `{"type":"external_account"}`)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := &provider.Google{Getenv: c.getenv, Client: http.DefaultClient}
			r := &http.Request{Header: http.Header{}}
			err := g.Authorize(t.Context(), r, nil)
			got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if got != c.token || (err != nil) != (c.token == "") {
				t.Errorf("token %q, %v", got, err)
			}
			if !g.HasCredentials() {
				t.Error("it has no credentials")
			}
			if err != nil && strings.Contains(err.Error(), "pod-identity") {
				t.Errorf("the error has the identity: %v", err)
			}
		})
	}
}

// TestCopilotClockSkew: with a wrong local clock, a valid token is kept and an expired one is not.
func TestCopilotClockSkew(t *testing.T) {
	// of the server's clock
	for name, skew := range map[string]time.Duration{"ahead": -3 * time.Hour, "right": 0, "behind": 3 * time.Hour} {
		asked := 0
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			now := time.Now().Add(skew)
			w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
			fmt.Fprintf(
				w, `{"token":"token-%d","expires_at":%d}`, asked,
				now.Add([]time.Duration{0, 30 * time.Minute, 30 * time.Second, time.Hour}[asked]).Unix(),
			)
		})
		var got []string
		for range 2 {
			c := &provider.Copilot{GitHub: "gho_1", Client: http.DefaultClient, API: s.URL}
			for range 2 {
				r, _ := http.NewRequest(http.MethodPost, s.URL, nil)
				if err := c.Authorize(t.Context(), r, nil); err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			}
		}
		if want := "token-1 token-1 token-2 token-3"; strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
