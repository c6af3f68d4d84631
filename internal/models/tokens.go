package models

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm/awslogin"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// tokenCache keeps the credentials that fetch short-lived tokens, so that all locations share the tokens.
type tokenCache struct {
	agent string // the User-Agent header of exchanges

	mu       sync.Mutex // guards what follows
	client   *http.Client
	google   map[string]*provider.Google // by the file with the credentials
	copilots map[string]*provider.Copilot
	aws      map[string]*awslogin.Chain // by the profile
}

// tokenTimeout bounds one exchange for a token, in addition to the timeouts of the turn that waits for it.
const tokenTimeout = 30 * time.Second

// HTTPClient returns the client that fetches tokens. Its traffic is never recorded and never redirected to another
// origin.
func (t *tokenCache) HTTPClient() *http.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clientLocked()
}

func (t *tokenCache) clientLocked() *http.Client {
	if t.client == nil {
		transport := provider.WithUserAgent(t.agent, provider.NewLazyTransport())
		t.client = &http.Client{Transport: transport, Timeout: tokenTimeout, CheckRedirect: provider.SameOrigin}
	}
	return t.client
}

// googleCredential returns the credential that fetches tokens of Google Cloud. Processes share the tokens.
func (t *tokenCache) googleCredential(getenv func(string) string, store *auth.Store) *provider.Google {
	t.mu.Lock()
	defer t.mu.Unlock()
	file := getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if t.google == nil {
		t.google = map[string]*provider.Google{}
	}
	if t.google[file] == nil {
		t.google[file] = &provider.Google{Getenv: getenv, Client: t.clientLocked(), Cache: shareInFile(store, "google")}
	}
	return t.google[file]
}

// awsChain returns the chain that obtains and caches the credentials of an AWS profile.
func (t *tokenCache) awsChain(profile string) *awslogin.Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aws == nil {
		t.aws = map[string]*awslogin.Chain{}
	}
	if t.aws[profile] == nil {
		t.aws[profile] = &awslogin.Chain{}
	}
	return t.aws[profile]
}

// copilotCredential returns the credential that exchanges a GitHub token for tokens of Copilot, at the address api if
// that is not empty. share is how processes share them.
func (t *tokenCache) copilotCredential(github, api string, share provider.TokenCache) *provider.Copilot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copilots[github]; c == nil || c.API != api {
		t.copilots = map[string]*provider.Copilot{ // replaces those of earlier logins
			github: {GitHub: github, API: api, Client: t.clientLocked(), Cache: share},
		}
	}
	return t.copilots[github]
}

// shareWithLogin stores fetched tokens beside the login that they come from. Under the lock of that file, one process
// fetches for all.
func shareWithLogin(store *auth.Store, id string) provider.TokenCache {
	return func(ctx context.Context, _, refused string, fetch provider.TokenFetcher) (string, time.Time, error) {
		renew := func(stored auth.Token) (auth.Token, error) {
			access, expires, err := fetch(ctx)
			return auth.Token{Refresh: stored.Refresh, Access: auth.NewSecret(access), Expires: expires}, err
		}
		token, err := store.Renew(ctx, id, auth.Token{Access: auth.NewSecret(refused)}, renew)
		return token.Access.Reveal(), token.Expires, err
	}
}

// shareInFile stores fetched tokens in a file of their own, for credentials that cairn does not store.
func shareInFile(store *auth.Store, id string) provider.TokenCache {
	return func(ctx context.Context, secret, refused string, fetch provider.TokenFetcher) (string, time.Time, error) {
		get := func(ctx context.Context) (auth.Token, error) {
			access, expires, err := fetch(ctx)
			return auth.Token{Access: auth.NewSecret(access), Expires: expires}, err
		}
		token, err := store.FetchShared(ctx, auth.FetchName(id, secret), auth.NewSecret(refused), get)
		return token.Access.Reveal(), token.Expires, err
	}
}
