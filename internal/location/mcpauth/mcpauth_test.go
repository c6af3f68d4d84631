package mcpauth_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/tool"
)

func answerHello(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{}, nil
}

// noKeyring makes logins go into a file.
func noKeyring(name string) string {
	if name == "CAIRN_DISABLE_KEYRING" {
		return "1"
	}
	return ""
}

// logIn logs in at the server.
func logIn(t testing.TB, f *fakeServer, l *mcpauth.Logins, c config.MCP) {
	t.Helper()
	flow, err := l.Start(t.Context(), "fake", c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context(), "fake", c, f.open(flow.URL)); err != nil {
		t.Fatal(err)
	}
}

// connect returns the state of a server that is connected with the logins.
func connect(t testing.TB, l *mcpauth.Logins, c config.MCP) (*mcp.Set, mcp.State) {
	t.Helper()
	pool := mcp.NewPool(mcp.Options{Login: func(name string, c config.MCP) sdkauth.OAuthHandler { return l.Handler(name, c) }})
	t.Cleanup(pool.Close)
	set := pool.Open(mcp.Location{Directory: t.TempDir(), Servers: map[string]config.MCP{"fake": c}})
	set.Connect(t.Context(), "fake")
	return set, set.States()[0]
}

func TestLogin(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	l := mcpauth.New(dir, noKeyring)
	// Without a login the server says what to do; it does not begin one.
	if _, got := connect(t, l, f.config()); got.Status != mcp.NeedsAuth || got.Error != "it needs a login: cairn mcp auth fake" {
		t.Errorf("without a login it is %s: %s", got.Status, got.Error)
	}
	if f.registrations != 0 {
		t.Error("a request began a login")
	}
	logIn(t, f, l, f.config())
	if _, got := connect(t, l, f.config()); got.Status != mcp.Connected {
		t.Errorf("after the login it is %s: %s", got.Status, got.Error)
	}
	// Another process has it too. A second login uses the same client.
	other := mcpauth.New(dir, noKeyring)
	if _, got := connect(t, other, f.config()); got.Status != mcp.Connected || !other.HasLogin(t.Context(), "fake", f.config()) {
		t.Errorf("in another process it is %s: %s", got.Status, got.Error)
	}
	logIn(t, f, other, f.config())
	if f.registrations != 1 {
		t.Errorf("cairn was registered %d times", f.registrations)
	}
	if diff := cmp.Diff([]string{f.URL + "/mcp", f.URL + "/mcp"}, f.resources); diff != "" {
		t.Errorf("the resource indicators (-want +got):\n%s", diff)
	}
	checkPrivate(t, dir)
}

// checkPrivate fails the test if others can read a file of the directory.
func checkPrivate(t testing.TB, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if info, err := e.Info(); err == nil && !e.IsDir() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
}

// The token is that of an address: a server that the configuration moves does not get it.
func TestLoginIsBoundToTheAddress(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	l := mcpauth.New(dir, noKeyring)
	logIn(t, f, l, f.config())
	var got []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	connect(t, l, config.MCP{Type: "remote", URL: thief.URL + "/mcp"})
	if got = slices.DeleteFunc(got, func(s string) bool { return s == "" }); len(got) > 0 {
		t.Errorf("another address got %v", got)
	}
}

// Requests of several processes that find an expired token renew it once.
func TestOneRenewal(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	f.expiresIn = 1
	logIn(t, f, mcpauth.New(dir, noKeyring), f.config())
	f.mu.Lock()
	f.expiresIn = 3600
	f.mu.Unlock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			h := mcpauth.New(dir, noKeyring).Handler("fake", f.config())
			source, err := h.TokenSource(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if token, err := source.Token(); err != nil || token.AccessToken != "access2" {
				t.Errorf("the token is %v, %v", token, err)
			}
		})
	}
	all.Wait()
	if f.refreshes != 1 {
		t.Errorf("there were %d renewals", f.refreshes)
	}
}

// A token that the server refuses before its time is renewed once; a login that ended is reported as such.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	logIn(t, f, l, f.config())
	f.mu.Lock()
	f.access = "changed"
	f.mu.Unlock()
	if _, got := connect(t, l, f.config()); got.Status != mcp.Connected || f.refreshes != 1 {
		t.Errorf("it is %s after %d renewals: %s", got.Status, f.refreshes, got.Error)
	}
	f.mu.Lock()
	f.access, f.refresh = "changed again", "changed"
	f.mu.Unlock()
	_, got := connect(t, l, f.config())
	if got.Status != mcp.NeedsAuth || !strings.Contains(got.Error, "cairn mcp auth fake") {
		t.Errorf("after the end of the login it is %s: %s", got.Status, got.Error)
	}
	if strings.Contains(got.Error, "refresh") && strings.Contains(got.Error, "refresh2") {
		t.Errorf("the error has a token: %s", got.Error)
	}
	if l.HasLogin(t.Context(), "fake", f.config()) {
		t.Error("the refused tokens are kept")
	}
}

// A login that ends while the server is connected: the call says what to do, and so does the state.
func TestLoginThatEndsInACall(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	logIn(t, f, l, f.config())
	changed := make(chan struct{}, 100)
	pool := mcp.NewPool(mcp.Options{
		Login:    func(name string, c config.MCP) sdkauth.OAuthHandler { return l.Handler(name, c) },
		OnChange: func(string, string, bool) { changed <- struct{}{} },
	})
	defer pool.Close()
	set := pool.Open(mcp.Location{Directory: t.TempDir(), Servers: map[string]config.MCP{"fake": f.config()}})
	set.Connect(t.Context(), "fake")
	registry := tool.NewRegistry(tool.Config{})
	mcp.NewTools(set, registry).Sync()
	f.mu.Lock()
	f.access, f.refresh = "changed", "changed"
	f.mu.Unlock()
	done := registry.TakeSnapshot(nil).Settle(t.Context(), tool.Call{
		Name: "fake_hello", Input: jsontext.Value(`{}`), Ask: func(context.Context, tool.Request) error { return nil },
	})
	if done.Error == nil || !strings.Contains(done.Error.Message, "cairn mcp auth fake") {
		t.Errorf("the call: %+v", done)
	}
	for set.States()[0].Status != mcp.NeedsAuth {
		<-changed
	}
}

func TestConfiguredClientAndRegistration(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	f.noRegister = true
	if _, got := connect(t, l, f.config()); got.Status != mcp.NeedsClientRegistration || !strings.Contains(got.Error, "oauth.clientId") {
		t.Errorf("it is %s: %s", got.Status, got.Error)
	}
	_, err := l.Start(t.Context(), "fake", f.config())
	wantError(t, err, "log in at the MCP server fake", "oauth.clientId")
	if need, ok := errors.AsType[*mcp.LoginError](err); !ok || need.Status != mcp.NeedsClientRegistration {
		t.Errorf("the error is %#v", err)
	}
	c := f.config()
	c.OAuth = jsontext.Value(`{"clientId":"mine","clientSecret":"s","scope":"a b","redirectUri":"http://127.0.0.1:9/back"}`)
	flow, err := l.Start(t.Context(), "fake", c)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"client_id": "mine", "scope": "a b", "redirect_uri": "http://127.0.0.1:9/back"} {
		if got := query(t, flow.URL, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	logIn(t, f, l, c)
	c.OAuth = jsontext.Value(`false`)
	if h := l.Handler("fake", c); h != nil {
		t.Error("oauth false has a handler")
	}
	_, err = l.Start(t.Context(), "fake", c)
	wantError(t, err, "oauth false")
}

// Answers that are not those of the login are refused.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	f.wantsIss = true
	for name, test := range map[string]struct {
		change func(answer string) string
		want   string
	}{
		"another state":  {func(a string) string { return strings.Replace(a, "state=", "state=x", 1) }, "another login"},
		"another issuer": {func(a string) string { return strings.Replace(a, "iss=", "iss=https%3A%2F%2Fevil.example%2F", 1) }, "another authorization server"},
		"no issuer":      {func(a string) string { return strings.Replace(a, "iss=", "x=", 1) }, "does not name its authorization server"},
		"refused":        {func(a string) string { return strings.Replace(a, "code=", "error=access_denied&x=", 1) }, "access_denied"},
		"no code":        {func(a string) string { return strings.Replace(a, "code=", "x=", 1) }, "no code"},
		"wrong code":     {func(a string) string { return strings.Replace(a, "code=code", "code=other", 1) }, "invalid_grant"},
	} {
		flow, err := l.Start(t.Context(), "fake", f.config())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Finish(t.Context(), "fake", f.config(), test.change(f.open(flow.URL))); err == nil {
			t.Errorf("%s: the login succeeded", name)
		} else {
			wantError(t, err, test.want)
		}
		wantError(t, l.Finish(t.Context(), "fake", f.config(), "code"), "no login waits")
	}
	logIn(t, f, l, f.config())
}

func TestChangedIssuerIsRefused(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	logIn(t, f, l, f.config())
	other := newFakeServer(t)
	f.Config.Handler.(*http.ServeMux).HandleFunc("GET /.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			write(w, 200, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{other.URL}})
		})
	_, err := l.Start(t.Context(), "fake", f.config())
	wantError(t, err, "its authorization server changed from "+f.URL+" to "+other.URL, "cairn mcp logout fake")
	if _, _, err := l.Logout(t.Context(), "fake", f.config()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Start(t.Context(), "fake", f.config()); err != nil {
		t.Errorf("after the logout: %v", err)
	}
	// Metadata that names another issuer than was asked for is refused (RFC 8414, section 3.3).
	third := newFakeServer(t)
	third.issuer = "https://evil.example"
	_, err = l.Start(t.Context(), "third", third.config())
	wantError(t, err, "log in at the MCP server third", `does not match issuer URL`)
}

// A server of the older specification names no authorization server. The issuer of its metadata is on it.
func TestServerThatIsItsOwnIssuer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"/oauth": "", "https://evil.example": "names another server"} {
		f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
		mux := f.Config.Handler.(*http.ServeMux)
		mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", http.NotFound)
		if f.issuer = name; name[0] == '/' {
			f.issuer = f.URL + name
		}
		_, err := l.Start(t.Context(), "fake", f.config())
		if want == "" && err != nil {
			t.Error(err)
		}
		if want != "" {
			wantError(t, err, want)
		}
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	l := mcpauth.New(dir, noKeyring)
	logIn(t, f, l, f.config())
	had, problem, err := l.Logout(t.Context(), "fake", f.config())
	if !had || problem != nil || err != nil {
		t.Errorf("Logout: %v, %v, %v", had, problem, err)
	}
	slices.Sort(f.revoked)
	if diff := cmp.Diff([]string{"access1", "refresh1"}, f.revoked); diff != "" {
		t.Errorf("revoked (-want +got):\n%s", diff)
	}
	if had, _, err := l.Logout(t.Context(), "fake", f.config()); had || err != nil {
		t.Errorf("the second Logout: %v, %v", had, err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "mcp-auth.json"))
	if strings.Contains(string(text), "access1") {
		t.Errorf("the file is %s", text)
	}
}

// The listener takes the answer of the browser, and ignores those of others.
func TestAuthenticateWithAListener(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	c := f.config()
	c.OAuth = jsontext.Value(`{"callbackPort":` + strconv.Itoa(freePort(t)) + `}`)
	show := func(flow mcpauth.Flow) {
		back := f.open(flow.URL)
		for _, address := range []string{strings.Replace(back, "state=", "state=x", 1), back} {
			resp, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	shown := make(chan mcpauth.Flow, 1)
	go func() { done <- l.Authenticate(ctx, "fake", c, func(f mcpauth.Flow) { shown <- f }, nil) }()
	flow := <-shown
	show(flow)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// On a machine without a browser, the address that it was sent to elsewhere is pasted.
func TestAuthenticateByPasting(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	c := f.config()
	c.OAuth = jsontext.Value(`{"redirectUri":"https://example.com/back"}`)
	paste := make(chan string, 1)
	err := l.Authenticate(t.Context(), "fake", c, func(flow mcpauth.Flow) { paste <- " " + f.open(flow.URL) + "\n" }, paste)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, l.Authenticate(t.Context(), "fake", c, func(mcpauth.Flow) {}, nil), "not one of this machine")
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Scopes that a server asks for in a call are asked for by the next login, also in another process.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	logIn(t, f, mcpauth.New(dir, noKeyring), f.config())
	refused := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{
		"Www-Authenticate": {`Bearer error="insufficient_scope", scope="write	all"`},
	}}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL, nil)
	err := mcpauth.New(dir, noKeyring).Handler("fake", f.config()).Authorize(t.Context(), r, refused)
	wantError(t, err, "cairn mcp auth fake with the scope")
	if need, ok := errors.AsType[*mcp.LoginError](err); !ok || need.Status != mcp.NeedsAuth {
		t.Errorf("the error is %#v", err)
	}
	other := mcpauth.New(dir, noKeyring)
	flow, err := other.Start(t.Context(), "fake", f.config())
	if err != nil || query(t, flow.URL, "scope") != "all read write" {
		t.Errorf("the login asks for %q, %v", query(t, flow.URL, "scope"), err)
	}
	logIn(t, f, other, f.config())
	flow, err = other.Start(t.Context(), "fake", f.config())
	if err != nil || query(t, flow.URL, "scope") != "read" {
		t.Errorf("the login after it asks for %q, %v", query(t, flow.URL, "scope"), err)
	}
}

// A login in another process, or location, is noticed at the next turn.
func TestLoginElsewhereIsNoticed(t *testing.T) {
	t.Parallel()
	f, dir := newFakeServer(t), t.TempDir()
	l := mcpauth.New(dir, noKeyring)
	pool := mcp.NewPool(mcp.Options{
		Login: func(name string, c config.MCP) sdkauth.OAuthHandler { return l.Handler(name, c) }, LoginStamp: l.Stamp,
	})
	defer pool.Close()
	set := pool.Open(mcp.Location{Directory: t.TempDir(), Servers: map[string]config.MCP{"fake": f.config()}})
	set.AwaitAll(t.Context())
	if got := set.States()[0].Status; got != mcp.NeedsAuth {
		t.Fatalf("it is %s", got)
	}
	logIn(t, f, mcpauth.New(dir, noKeyring), f.config())
	set.AwaitAll(t.Context())
	if got := set.States()[0]; got.Status != mcp.Connected {
		t.Errorf("after the login it is %s: %s", got.Status, got.Error)
	}
}

// A refusal is that of its connection: two at once do not end the next one.
func TestRefusalsOfOneConnection(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	logIn(t, f, l, f.config())
	set, _ := connect(t, l, f.config())
	f.mu.Lock()
	f.access, f.refresh = "changed", "changed"
	f.mu.Unlock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { _, _, _ = set.Call(t.Context(), "fake", "hello", nil) })
	}
	all.Wait()
	logIn(t, f, l, f.config())
	for range 3 {
		set.Connect(t.Context(), "fake")
		if _, _, err := set.Call(t.Context(), "fake", "hello", nil); err != nil {
			t.Errorf("after the login: %v", err)
		}
	}
}

// Endpoints that are not protected by https are refused wherever they are named.
func TestEndpointsNeedHTTPS(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint"} {
		f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
		f.extra = map[string]any{member: "http://auth.example.com/x"}
		flow, err := l.Start(t.Context(), "fake", f.config())
		if err == nil && member == "token_endpoint" {
			err = l.Finish(t.Context(), "fake", f.config(), f.open(flow.URL))
		}
		wantError(t, err, "log in at the MCP server fake: ", member+": URL")
	}
}

// An authorization server that the MCP server names must have metadata, which say that it supports PKCE.
func TestNamedIssuerNeedsMetadata(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	f.Config.Handler.(*http.ServeMux).HandleFunc("GET /.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			write(w, 200, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{bare.URL}})
		})
	_, err := l.Start(t.Context(), "fake", f.config())
	wantError(t, err, bare.URL, "has no metadata")
}

// Two servers of one name, in two directories, have logins of their own.
func TestLoginsOfOneName(t *testing.T) {
	t.Parallel()
	a, b, l := newFakeServer(t), newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	first, err := l.Start(t.Context(), "fake", a.config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Start(t.Context(), "fake", b.config()); err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context(), "fake", a.config(), query(t, a.open(first.URL), "code")); err != nil {
		t.Errorf("the code of the first server: %v", err)
	}
	if l.HasLogin(t.Context(), "fake", b.config()) {
		t.Error("the second server has a login")
	}
}

// Without a listener and at the end of the input, the login ends.
func TestAuthenticateWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f, l := newFakeServer(t), mcpauth.New(t.TempDir(), noKeyring)
	c := f.config()
	c.OAuth = jsontext.Value(`{"redirectUri":"https://example.com/back"}`)
	paste := make(chan string)
	close(paste)
	wantError(t, l.Authenticate(t.Context(), "fake", c, func(mcpauth.Flow) {}, paste), "not one of this machine")
}
