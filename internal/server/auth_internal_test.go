package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/location/pty"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// newRemote returns a server that other machines reach, whose operations all answer 204, and a call from elsewhere.
func newRemote(t *testing.T, c Config) (*Server, func(method, path string, header ...string) *http.Response) {
	t.Helper()
	if c.V1 == nil {
		c.V1 = v1.New(v1.Config{})
	}
	c.V2, c.Secret = v2.New(v2.Config{}), strings.Repeat("s", 64)
	c.TCP, c.Hostname, c.Password = true, "0.0.0.0", "pw"
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.origins, err = newOriginPolicy(s.config, 4096); err != nil {
		t.Fatal(err)
	}
	s.cookieName = "cairn-4096"
	h := s.newChain(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	)
	return s, func(method, path string, header ...string) *http.Response {
		form := ""
		if path == loginPath {
			form, header = header[0], []string{"Content-Type", "application/x-www-form-urlencoded"}
		}
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(form))
		r.URL.Host, r.URL.Scheme = "", ""
		far := &peer.Peer{
			LocalAddr:  &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4096},
			RemoteAddr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 7},
		}
		r = r.WithContext(peer.WithPeer(r.Context(), far))
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
}

// From another machine the password and its logins do everything, as OpenCode's clients need; tokens do what their
// scope says; the secret, which tools can read, approves nothing. A cookie of this machine is worth nothing elsewhere.
func TestRemoteCallers(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	s, call := newRemote(t, Config{Tokens: tokens})
	bearer := func(role caller.Role) string {
		_, text, err := tokens.Create(t.Context(), role, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	cookie := func(form string) string {
		resp := call(http.MethodPost, loginPath, form)
		if len(resp.Cookies()) != 1 {
			t.Fatal(form, resp.Status)
		}
		return "cairn-4096=" + resp.Cookies()[0].Value
	}
	here := "cairn-4096=" + s.logins.start(time.Now(), loginGrant{role: caller.Admin, known: true})
	routes := []string{"GET /session", "POST /session", "POST /permission/per_1/reply", "POST /pty"}
	for _, c := range []struct {
		name, header, value string
		want                [4]int
	}{
		{"nothing", "X-Nothing", "1", [4]int{401, 401, 401, 401}},
		{"password", "Authorization", "Basic b3BlbmNvZGU6cHc=", [4]int{204, 204, 204, 204}},
		{"login by password", "Cookie", cookie("user=opencode&password=pw"), [4]int{204, 204, 204, 204}},
		{"secret", "Authorization", "Bearer " + s.config.Secret, [4]int{204, 204, 403, 403}},
		{"login by secret", "Cookie", cookie("password=" + s.config.Secret), [4]int{204, 204, 403, 403}},
		{"login of this machine", "Cookie", here, [4]int{401, 401, 401, 401}},
		{"read", "Authorization", bearer(caller.Read), [4]int{204, 403, 403, 403}},
		{"prompt", "Authorization", bearer(caller.Prompt), [4]int{204, 204, 403, 403}},
		{"approve", "Authorization", bearer(caller.Approve), [4]int{204, 204, 204, 403}},
		{"admin", "Authorization", bearer(caller.Admin), [4]int{204, 204, 204, 204}},
		{"says that it is a relay", "X-Cairn-Caller", "admin user", [4]int{401, 401, 401, 401}},
	} {
		for i, route := range routes {
			method, path, _ := strings.Cut(route, " ")
			resp := call(method, path, c.header, c.value)
			if resp.StatusCode != c.want[i] || (resp.StatusCode == 204) != (resp.Header.Get("X-Cairn-Error") == "") {
				t.Errorf("%s, %s: %s %v", c.name, route, resp.Status, resp.Header)
			}
		}
	}
}

// A ticket is worth as much as the credential that it was requested with: one of a process of this machine is worth
// nothing elsewhere, and that of a token ends with the token.
func TestTicketsOfCredentials(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	terminals := pty.New(&session.IDs{}, func(pty.Change) {})
	t.Cleanup(terminals.Close)
	dir := t.TempDir()
	i, err := terminals.Open(pty.Order{Directory: dir, Cwd: dir, Command: "sh", Args: []string{"-c", "read x"}})
	if err != nil {
		t.Fatal(err)
	}
	_, call := newRemote(t, Config{Tokens: tokens, V1: v1.New(v1.Config{Terminals: terminals})})
	token, _, err := tokens.Create(t.Context(), caller.Admin, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	connect := func(c caller.Caller) int {
		word, err := terminals.IssueTicket(dir, i.ID, pty.Holder{Caller: c})
		if err != nil {
			t.Fatal(err)
		}
		return call(http.MethodGet, "/pty/"+i.ID+"/connect?ticket="+word).StatusCode
	}
	byToken := caller.Caller{Kind: caller.KindToken, Token: token.ID, Role: caller.Admin}
	for _, c := range []struct {
		name string
		by   caller.Caller
		want int
	}{
		{"password", caller.Caller{Kind: caller.KindPassword, Role: caller.Admin}, 204},
		{"process", caller.Caller{Kind: caller.KindUser, Role: caller.Admin}, 401},
		{"token", byToken, 204},
		{"smaller token", caller.Caller{Kind: caller.KindToken, Token: token.ID, Role: caller.Approve}, 403},
	} {
		if got := connect(c.by); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if err := tokens.Revoke(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	if got := connect(byToken); got != 401 {
		t.Errorf("revoked: %d", got)
	}
}
