package server_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

// newToken creates a token of the scope and returns its id and its text.
func newToken(t *testing.T, f *accesstoken.File, s caller.Role) (id, text string) {
	t.Helper()
	r, text, err := f.Create(t.Context(), s, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID, text
}

// callRoute sends the request and returns the status and why the caller is refused; 0 if ctx ends before.
func (h *house) callRoute(
	ctx context.Context, t *testing.T, o operation.Operation, authorization string,
) (status int, reason string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, o.Method, h.url+target(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, ""
		}
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	reason, _, _ = strings.Cut(resp.Header.Get("X-Cairn-Error"), ":")
	return resp.StatusCode, reason
}

// Every operation of either contract is for callers with its scope, at the owner and at a relay: a token of a smaller
// one is refused with 403 and the name of the missing scope, larger ones are not.
func TestEveryRouteNeedsItsScope(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	owner := start(t, server.Config{Password: "pw", Tokens: tokens})
	relay := owner.relay(t, server.Config{Password: "pw", Tokens: tokens})
	texts := map[caller.Role]string{}
	for _, s := range []caller.Role{caller.Read, caller.Prompt, caller.Approve, caller.Admin} {
		_, texts[s] = newToken(t, tokens, s)
	}
	for name, h := range map[string]*house{"owner": owner, "relay": relay} {
		for _, o := range append(v1.ListOperations(), v2.ListOperations()...) {
			if status, reason := h.callRoute(t.Context(), t, o, ""); status != 401 || reason != caller.ReasonMissing {
				t.Errorf("%s, %s %s without credentials: %d %s", name, o.Method, o.Path, status, reason)
			}
			for s, text := range texts {
				ctx, cancel := t.Context(), func() {}
				if s >= o.Role && o.Path == "/tui/control/next" { // it waits for what never comes
					ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				}
				status, reason := h.callRoute(ctx, t, o, "Bearer "+text)
				cancel()
				refused := status == 403 && reason == caller.ReasonScope
				if refused != (s < o.Role) || status == 401 {
					t.Errorf("%s, %s %s needs %s, with %s: %d %s", name, o.Method, o.Path, o.Role, s, status, reason)
				}
			}
		}
	}
}

// Wrong credentials are no better on any route; most are not even answered in time (TestGuessesAreSlow).
func TestEveryRouteRefusesWrongCredentials(t *testing.T) {
	h := start(t, server.Config{Tokens: accesstoken.New(t.TempDir())})
	var all sync.WaitGroup
	for _, o := range append(v1.ListOperations(), v2.ListOperations()...) {
		all.Go(func() {
			status, reason := h.callRoute(t.Context(), t, o, "Bearer "+accesstoken.Prefix+"00000000_"+strings.Repeat("0", 64))
			if status != http.StatusTooManyRequests && (status != 401 || reason != caller.ReasonWrong) {
				t.Errorf("%s %s: %d %s", o.Method, o.Path, status, reason)
			}
		})
	}
	all.Wait()
}

// What the table of routes must never lose.
func TestScopesOfRoutes(t *testing.T) {
	waits := []string{
		"POST /api/session/{sessionID}/wait", "POST /api/session/{sessionID}/job/{jobID}/wait",
		"POST /experimental/workspace/sync-list", "POST /sync/start", "POST /sync/history",
		"POST /experimental/project/{projectID}/copy/refresh",
		"POST /experimental/project/{projectID}/copy/generate-name",
	}
	for _, o := range append(v1.ListOperations(), v2.ListOperations()...) {
		change := o.Method != http.MethodGet
		route := o.Method + " " + o.Path
		least := caller.Read
		switch {
		case o.Path == "/api/session/log": // it has system contexts; imported, it says what a revert writes to files
			least = caller.Approve
		case change && (strings.HasPrefix(o.Path, "/pty") || strings.Contains(o.Path, "/config") ||
			strings.HasPrefix(o.Path, "/auth") || strings.Contains(o.Path, "/oauth/") || strings.HasPrefix(o.Path, "/mcp") ||
			strings.HasPrefix(o.Path, "/global/")), strings.HasSuffix(o.Path, "/connect"):
			least = caller.Admin
		case change && (strings.HasSuffix(o.Path, "/reply") || strings.HasSuffix(o.Path, "/reject") ||
			strings.Contains(o.Path, "/permissions/") || strings.HasSuffix(o.Path, "/shell") ||
			strings.HasPrefix(o.Path, "/tui/") || strings.Contains(o.Path, "/permission/saved") ||
			strings.HasSuffix(o.Path, "/budget") || o.Path == "/vcs/apply"):
			least = caller.Approve
		case change && !slices.Contains(waits, route):
			least = caller.Prompt
		}
		if o.Role < least || least == caller.Read && o.Path != "/tui/control/next" && o.Role != least {
			t.Errorf("%s is for %s, want %s", route, o.Role, least)
		}
	}
}

// A process of the user may pass on whose request it makes. That narrows what it may do and never widens it; at the
// relay the header of others means nothing.
func TestARelayedCallerOnlyNarrows(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	_, read := newToken(t, tokens, caller.Read)
	owner := start(t, server.Config{Tokens: tokens})
	relay := owner.relay(t, server.Config{Tokens: tokens})
	for _, c := range []struct {
		name, as, bearer string
		to               *house
		want             int
	}{
		{"no header", "", "", owner, 200},
		{"for a token", "read token 1", "", owner, 403},
		{"for itself", "admin user", "", owner, 200},
		{"nonsense", "root", "", owner, 403},
		{"a token that says more", "admin token 1", read, owner, 403},
		{"a token at a relay", "admin token 1", read, relay, 403},
		{"the user at a relay", "read token 1", "", relay, 403},
	} {
		got, _ := c.to.ask(t, http.MethodPost, "/session", func(r *http.Request) {
			if c.as != "" {
				r.Header.Set(httpio.HeaderCaller, c.as)
			}
			if c.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+c.bearer)
			}
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A token is a bearer's or the password of any user, and ends at once when it is revoked or expires; so do its streams.
func TestTokensEnd(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	h := start(t, server.Config{Password: "pw", Tokens: tokens})
	id, text := newToken(t, tokens, caller.Read)
	for name, change := range map[string]func(*http.Request){
		"bearer": authorization("Bearer " + text), "password": basic("anybody", text),
	} {
		if code, body := h.ask(t, http.MethodGet, "/api/session", change); code != 200 {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	events := h.fetch(t, http.MethodGet, "/event", "", basic("", text))
	if events.StatusCode != 200 {
		t.Fatal(events.Status)
	}
	if err := tokens.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if code, _ := h.ask(t, http.MethodGet, "/api/session", authorization("Bearer "+text)); code != 401 {
		t.Errorf("revoked: %d", code)
	}
	for b := make([]byte, 4096); ; { // ends with the stream
		if _, err := events.Body.Read(b); err != nil {
			break
		}
	}
	_, short, err := tokens.Create(t.Context(), caller.Read, "", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for code := 200; code != 401; {
		code, _ = h.ask(t, http.MethodGet, "/api/session", authorization("Bearer "+short))
	}
}

// A caller with the scope prompt gives no session more than its rules allow: no rule that allows, none in the place of
// others, no asks that are allowed; it may deny more. The session of such a caller asks, where others' do not.
func TestOnlyApproversLoosenRules(t *testing.T) {
	tokens := accesstoken.New(t.TempDir())
	h := start(t, server.Config{Tokens: tokens})
	_, prompt := newToken(t, tokens, caller.Prompt)
	_, approve := newToken(t, tokens, caller.Approve)
	call := func(token, method, path, body string) (int, string) {
		resp := h.fetch(t, method, path, body, authorization("Bearer "+token), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
		})
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	newSession := func(token, path string) string {
		status, body := call(token, http.MethodPost, path, "{}")
		id := regexp.MustCompile(`ses_\w+`).FindString(body)
		if status != 200 || id == "" {
			t.Fatal(status, body)
		}
		return id
	}
	id := newSession(approve, "/api/session")
	for _, c := range []struct {
		method, path, body string
		prompt             int
	}{
		{"POST", "/session", `{"permission":[{"permission":"bash","pattern":"*","action":"allow"}]}`, 403},
		{"POST", "/session", `{"permission":[{"permission":"bash","pattern":"*","action":"deny"}]}`, 200},
		{"PATCH", "/session/" + id, `{"permission":[{"permission":"bash","pattern":"*","action":"ask"}]}`, 403},
		{"PATCH", "/session/" + id, `{"permission":[{"permission":"bash","pattern":"*","action":"deny"}]}`, 200},
		{"PATCH", "/api/session/" + id, `{"permission":[{"action":"edit","resource":"*","effect":"deny"}]}`, 403},
		{"PATCH", "/session/" + id, `{"title":"x"}`, 200},
		{
			"POST", "/session/" + id + "/prompt_async", `{"tools":{"bash":true},"parts":[{"type":"text","text":"x"}]}`,
			403,
		},
		{"POST", "/api/session", `{"permission":[{"action":"bash","resource":"*","effect":"allow"}]}`, 403},
		{"POST", "/api/session", `{"permission":[{"action":"bash","resource":"*","effect":"ask"}]}`, 200},
		{"PATCH", "/api/session/" + id, `{"permission":[]}`, 403},
		{"POST", "/api/session/" + id + "/prompt", `{"prompt":{"text":"x"},"resume":false,"asks":"allow"}`, 403},
		{"POST", "/api/session/" + id + "/prompt", `{"prompt":{"text":"x"},"resume":false,"asks":"deny"}`, 200},
	} {
		status, body := call(prompt, c.method, c.path, c.body)
		if status != c.prompt || (status == 403) != strings.Contains(body, `"code":"`+caller.ReasonScope+`"`) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
		if status, body := call(approve, c.method, c.path, c.body); status/100 != 2 {
			t.Errorf("with approve, %s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	waiting := newSession(approve, "/api/session")
	for token, restricted := range map[string]bool{prompt: true, approve: false} {
		status, body := call(token, "POST", "/api/session/"+waiting+"/prompt?all=1", `{"prompt":{"text":"x"},"resume":false}`)
		if status != 200 || strings.Contains(body, `"restricted":true`) != restricted {
			t.Errorf("a prompt is restricted: %t: %d %s", !restricted, status, body)
		}
	}
	for token, open := range map[string]bool{prompt: false, approve: true} {
		status, copied := call(token, http.MethodPost, "/api/session/"+id+"/fork", "{}")
		fork := regexp.MustCompile(`"id":"(ses_\w+)"`).FindStringSubmatch(copied)
		if status != 200 || len(fork) != 2 {
			t.Fatal(status, copied)
		}
		if _, body := call(approve, http.MethodGet, "/api/session/"+fork[1]+"?all=1", ""); strings.Contains(
			body, `"open":true`,
		) != open {
			t.Errorf("a fork of %s is open: %t: %s", token, !open, body)
		}
	}
	for token, open := range map[string]bool{prompt: false, approve: true} {
		for _, path := range []string{"/session", "/api/session"} {
			_, body := call(approve, http.MethodGet, "/api/session/"+newSession(token, path)+"?all=1", "")
			if strings.Contains(body, `"open":true`) != open {
				t.Errorf("a new session of %s is open: %t: %s", path, !open, body)
			}
		}
	}
}
