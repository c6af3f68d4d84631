package mcpauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// fakeServer is an MCP server and its authorization server.
type fakeServer struct {
	*httptest.Server
	t   testing.TB
	mcp http.Handler

	mu            sync.Mutex     // guards the rest
	issuer        string         // in the metadata; "" is the address
	extra         map[string]any // replaces members of the metadata
	noRegister    bool
	wantsIss      bool
	expiresIn     int
	challenges    map[string]string // code challenges by code
	redirects     map[string]string // redirect addresses by code
	refresh       string            // the token that is valid
	access        string
	issued        int
	refreshes     int
	registrations int
	revoked       []string
	resources     []string // resource indicators of token requests
}

func newFakeServer(t testing.TB) *fakeServer {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: map[string]any{"type": "object"}}, answerHello)
	f := &fakeServer{
		t: t, expiresIn: 3600, challenges: map[string]string{}, redirects: map[string]string{},
		mcp: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", f.serveMCP)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", f.serveResource)
	mux.HandleFunc("/.well-known/oauth-authorization-server", f.serveMetadata)
	mux.HandleFunc("POST /register", f.serveRegister)
	mux.HandleFunc("/authorize", f.serveAuthorize)
	mux.HandleFunc("POST /token", f.serveToken)
	mux.HandleFunc("POST /revoke", f.serveRevoke)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *fakeServer) config() config.MCP { return config.MCP{Type: "remote", URL: f.URL + "/mcp"} }

func (f *fakeServer) serveMCP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	ok := f.access != "" && r.Header.Get("Authorization") == "Bearer "+f.access
	f.mu.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+f.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	f.mcp.ServeHTTP(w, r)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, v)
}

func (f *fakeServer) serveResource(w http.ResponseWriter, _ *http.Request) {
	write(w, 200, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{f.URL}})
}

func (f *fakeServer) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	issuer := f.issuer
	if issuer == "" {
		issuer = f.URL
	}
	m := map[string]any{
		"issuer": issuer, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
		"revocation_endpoint": f.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"},
		"response_types_supported": []string{"code"}, "authorization_response_iss_parameter_supported": f.wantsIss,
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"}, "jwks_uri": f.URL + "/jwks",
	}
	if !f.noRegister {
		m["registration_endpoint"] = f.URL + "/register"
	}
	maps.Copy(m, f.extra)
	write(w, 200, m)
}

func (f *fakeServer) serveRegister(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.registrations++
	var in map[string]any
	_ = json.UnmarshalRead(r.Body, &in)
	in["client_id"] = fmt.Sprintf("client%d", f.registrations)
	write(w, 201, in)
}

// serveAuthorize sends the browser back at once.
func (f *fakeServer) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	code := fmt.Sprintf("code%d", len(f.challenges))
	f.challenges[code], f.redirects[code] = q.Get("code_challenge"), q.Get("redirect_uri")
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if f.wantsIss {
		back.Set("iss", f.URL)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (f *fakeServer) serveToken(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = r.ParseForm()
	f.resources = append(f.resources, r.Form.Get("resource"))
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		code := r.Form.Get("code")
		if f.challenges[code] != base64.RawURLEncoding.EncodeToString(sum[:]) || f.redirects[code] != r.Form.Get("redirect_uri") {
			write(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
	case "refresh_token":
		f.refreshes++
		if f.refresh == "" || r.Form.Get("refresh_token") != f.refresh {
			f.refresh = "" // a token that is used twice ends the login
			write(w, 400, map[string]string{"error": "invalid_grant", "error_description": "used before"})
			return
		}
	}
	f.issued++
	f.access, f.refresh = fmt.Sprintf("access%d", f.issued), fmt.Sprintf("refresh%d", f.issued)
	write(w, 200, map[string]any{
		"access_token": f.access, "refresh_token": f.refresh, "token_type": "Bearer", "expires_in": f.expiresIn,
	})
}

func (f *fakeServer) serveRevoke(_ http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = r.ParseForm()
	f.revoked = append(f.revoked, r.Form.Get("token"))
}

// open is a browser that opens an address and returns where it is sent to.
func (f *fakeServer) open(address string) string {
	f.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Header.Get("Location")
}

func query(t testing.TB, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("the error is %v, want %q in it", err, p)
		}
	}
}
