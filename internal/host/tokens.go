package host

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// tokens keeps those credentials that fetch short-lived tokens, so that all locations share what they fetched.
type tokens struct {
	agent string // by which name it asks

	mu      sync.Mutex // guards what follows
	client  *http.Client
	googles map[string]*provider.Google // by the file that they read
	gits    map[string]*provider.Copilot
}

// tokenTime bounds one exchange for a token, beside the clocks of the turn that waits for it.
const tokenTime = 30 * time.Second

// http returns the client that fetches tokens. It is never the one of a recording, which tokens must not get into, and what
// they are fetched for is sent nowhere else.
func (t *tokens) http() *http.Client {
	if t.client == nil {
		t.client = &http.Client{Transport: provider.Named(t.agent, provider.LateTransport()), Timeout: tokenTime, CheckRedirect: provider.SameOrigin}
	}
	return t.client
}

// fetcher is the client for those who do not hold the lock.
func (t *tokens) fetcher() *http.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.http()
}

// google returns what fetches tokens of Google Cloud's, which processes share.
func (t *tokens) google(getenv func(string) string, keep *auth.Store) *provider.Google {
	t.mu.Lock()
	defer t.mu.Unlock()
	file := getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if t.googles == nil {
		t.googles = map[string]*provider.Google{}
	}
	if t.googles[file] == nil {
		t.googles[file] = &provider.Google{Getenv: getenv, Client: t.http(), Shared: fetched(keep, "google")}
	}
	return t.googles[file]
}

// copilot returns what exchanges a token of GitHub's, at the address api if it is not GitHub's own. Processes share what it
// is exchanged for.
func (t *tokens) copilot(github, api string, keep provider.Shared) *provider.Copilot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gits == nil {
		t.gits = map[string]*provider.Copilot{}
	}
	if known := t.gits[github]; known == nil || known.API != api {
		t.gits = map[string]*provider.Copilot{ // an older login's is of no use
			github: {GitHub: github, API: api, Client: t.http(), Shared: keep},
		}
	}
	return t.gits[github]
}

// copilotID is the provider whose login at GitHub is exchanged for short-lived tokens.
const copilotID = "github-copilot"

// shared keeps fetched tokens beside the login that they come from, so that of all processes only one fetches, under
// the lock of the file.
func shared(store *auth.Store, id string) provider.Shared {
	return func(ctx context.Context, _, refused string, fetch provider.Fetch) (string, time.Time, error) {
		token, err := store.Renewed(ctx, id, auth.Token{Access: auth.NewSecret(refused)}, func(stored auth.Token) (auth.Token, error) {
			access, expires, err := fetch(ctx)
			return auth.Token{Refresh: stored.Refresh, Access: auth.NewSecret(access), Expires: expires}, err
		})
		return token.Access.Reveal(), token.Expires, err
	}
}

// fetched keeps tokens that were fetched for what is no login of ours, in a file of their own.
func fetched(store *auth.Store, id string) provider.Shared {
	return func(ctx context.Context, secret, refused string, fetch provider.Fetch) (string, time.Time, error) {
		token, err := store.Fetched(ctx, auth.FetchedFor(id, secret), auth.NewSecret(refused), func(ctx context.Context) (auth.Token, error) {
			access, expires, err := fetch(ctx)
			return auth.Token{Access: auth.NewSecret(access), Expires: expires}, err
		})
		return token.Access.Reveal(), token.Expires, err
	}
}
