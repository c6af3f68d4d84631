package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Google gives out tokens of Google Cloud's application default credentials: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, else the one that gcloud auth application-default login writes.
type Google struct {
	Getenv func(string) string
	Client *http.Client // for tokens
	Shared Shared       // nil keeps what is fetched to itself

	mu      sync.Mutex // guards token and expires
	token   string
	expires time.Time // zero is never
}

var _ Credential = (*Google)(nil)

const (
	cloudScope    = "https://www.googleapis.com/auth/cloud-platform"
	googleTokens  = "https://oauth2.googleapis.com/token"
	maxGoogleFile = 1 << 20
	tokenMargin   = 5 * time.Minute // a token is renewed that long before it expires (spec/v2 §19.3)
)

// Authorize implements Credential.
func (g *Google) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	token, err := g.fresh(ctx, "")
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Renew implements Credential.
func (g *Google) Renew(ctx context.Context, refused *http.Request) (bool, error) {
	old := strings.TrimPrefix(refused.Header.Get("Authorization"), "Bearer ")
	token, err := g.fresh(ctx, old)
	return err == nil && token != old, err
}

// Known reports whether there are credentials, without using them.
func (g *Google) Known() bool {
	_, err := os.Stat(g.path())
	return err == nil
}

func (g *Google) path() string {
	if p := g.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); p != "" {
		return p
	}
	dir := cmp.Or(g.Getenv("CLOUDSDK_CONFIG"), filepath.Join(home(g.Getenv), ".config", "gcloud"))
	return filepath.Join(dir, "application_default_credentials.json")
}

// fresh returns a token that holds for a while and is not the refused one.
func (g *Google) fresh(ctx context.Context, refused string) (string, error) {
	g.mu.Lock()
	token, expires := g.token, g.expires
	g.mu.Unlock()
	if token != "" && token != refused && (expires.IsZero() || time.Until(expires) > tokenMargin) {
		return token, nil
	}
	f, err := g.read()
	if err != nil {
		return "", err
	}
	token, expires, err = g.Shared.token(ctx, f.secret(), refused, func(ctx context.Context) (string, time.Time, error) { return g.fetch(ctx, f) })
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.token, g.expires = token, expires
	return token, nil
}

// googleFile are the credentials that Google's tools write, of both kinds that are understood.
type googleFile struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

// secret is what tokens are fetched for: those of others are not ours.
func (f googleFile) secret() string {
	return strings.Join([]string{f.Type, f.TokenURI, f.ClientEmail, f.PrivateKey, f.ClientID, f.RefreshToken}, "\n")
}

func (g *Google) fetch(ctx context.Context, f googleFile) (string, time.Time, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, g.Client)
	at := cmp.Or(f.TokenURI, googleTokens)
	var source oauth2.TokenSource
	switch f.Type {
	case "service_account":
		c := jwt.Config{Email: f.ClientEmail, PrivateKey: []byte(f.PrivateKey), PrivateKeyID: f.PrivateKeyID, Scopes: []string{cloudScope}, TokenURL: at}
		source = c.TokenSource(ctx)
	case "authorized_user":
		c := oauth2.Config{ClientID: f.ClientID, ClientSecret: f.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: at, AuthStyle: oauth2.AuthStyleInParams}}
		source = c.TokenSource(ctx, &oauth2.Token{RefreshToken: f.RefreshToken})
	default:
		return "", time.Time{}, fmt.Errorf("%s holds credentials of type %.40q; those of a service account or of gcloud auth application-default login are understood", g.path(), f.Type)
	}
	token, err := source.Token()
	if err != nil {
		return "", time.Time{}, tokenError("Google", err)
	}
	return token.AccessToken, token.Expiry, nil
}

func (g *Google) read() (googleFile, error) {
	var f googleFile
	info, err := os.Stat(g.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf("there are no Google Cloud credentials in %s; run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS", g.path())
	case err != nil:
		return f, err
	case !info.Mode().IsRegular() || info.Size() > maxGoogleFile:
		return f, fmt.Errorf("%s is no file of credentials", g.path())
	}
	raw, err := os.ReadFile(g.path())
	if err != nil {
		return f, err
	}
	if json.Unmarshal(raw, &f) != nil { // its error may quote the file
		return f, fmt.Errorf("%s is not a JSON object of credentials", g.path())
	}
	return f, nil
}

// tokenError is why a token was not given, without what was sent for it. A server that has trouble may have none later.
func tokenError(who string, err error) error {
	e, answered := errors.AsType[*oauth2.RetrieveError](err)
	_, lost := errors.AsType[*url.Error](err)
	switch {
	case lost:
		return fmt.Errorf("%s gives no token: %w", who, transportError("the token's address", err))
	case !answered: // err may quote what came
		return fmt.Errorf("%s gives no token: what answers is no server of tokens", who)
	case e.Response.StatusCode >= 500 || e.Response.StatusCode == http.StatusTooManyRequests:
		return &llm.Error{Class: llm.Overloaded, Status: e.Response.StatusCode, Message: who + " gives no token just now: it answers with HTTP " + e.Response.Status}
	case e.ErrorCode == "" && e.ErrorDescription == "":
		return fmt.Errorf("%s gives no token: what answers is no server of tokens (HTTP %s)", who, e.Response.Status)
	default:
		return fmt.Errorf("%s gives no token: %w; log in again: gcloud auth application-default login", who, refusal(e.ErrorCode, e.ErrorDescription))
	}
}
