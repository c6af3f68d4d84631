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
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Google fetches tokens with Google Cloud's application default credentials: the file of
// GOOGLE_APPLICATION_CREDENTIALS, else the one that gcloud auth application-default login writes, else the metadata
// server of a machine in Google's cloud. A file may name a service account, a user, an impersonated account, or an
// identity of another cloud (workload identity federation).
type Google struct {
	Getenv func(string) string
	Client *http.Client // for token requests
	Cache  TokenCache   // nil disables sharing with other processes

	token bearerToken
}

var _ Credential = (*Google)(nil)

const (
	cloudScope    = "https://www.googleapis.com/auth/cloud-platform"
	googleTokens  = "https://oauth2.googleapis.com/token"
	maxGoogleFile = 1 << 20
)

// Authorize implements Credential.
func (g *Google) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	return g.token.authorize(ctx, r, g.requestToken)
}

// Renew implements Credential.
func (g *Google) Renew(ctx context.Context, refused *http.Request) (bool, error) {
	return g.token.renew(ctx, refused, g.requestToken)
}

// HasCredentials reports whether there are credentials, without using them.
func (g *Google) HasCredentials() bool {
	_, err := os.Stat(g.filePath())
	return err == nil || g.hasMetadataServer()
}

// metadataType stands for the metadata server in place of the type of a file.
const metadataType = "metadata_server"

// hasMetadataServer reports whether this machine is in Google's cloud and no file is named, without a request.
func (g *Google) hasMetadataServer() bool {
	if g.Getenv("GOOGLE_APPLICATION_CREDENTIALS") != "" {
		return false
	}
	if g.Getenv("GCE_METADATA_HOST") != "" || g.Getenv("K_SERVICE") != "" { // K_SERVICE: Cloud Run
		return true
	}
	name, err := os.ReadFile("/sys/class/dmi/id/product_name")
	return err == nil && strings.HasPrefix(string(name), "Google")
}

func (g *Google) filePath() string {
	if p := g.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); p != "" {
		return p
	}
	home := cmp.Or(g.Getenv("HOME"), g.Getenv("USERPROFILE"))
	dir := cmp.Or(g.Getenv("CLOUDSDK_CONFIG"), filepath.Join(home, ".config", "gcloud"))
	return filepath.Join(dir, "application_default_credentials.json")
}

func (g *Google) requestToken(ctx context.Context, refused string) (string, time.Time, error) {
	f, err := g.read()
	if err != nil {
		return "", time.Time{}, err
	}
	return g.Cache.getToken(
		ctx, f.cacheKey(), refused, func(ctx context.Context) (string, time.Time, error) { return g.fetch(ctx, f) },
	)
}

// googleFile is a credentials file of Google's tools, with the fields of the types that are decoded here.
type googleFile struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	whole string // the file, of types that the library decodes
}

// cacheKey identifies the credentials, so that tokens of others are not used.
func (f googleFile) cacheKey() string {
	parts := []string{f.Type, f.TokenURI, f.ClientEmail, f.PrivateKey, f.ClientID, f.RefreshToken, f.whole}
	return strings.Join(parts, "\n")
}

// fetch returns a token for the credentials of the file and its expiry. Errors name the file but never quote it.
func (g *Google) fetch(ctx context.Context, f googleFile) (string, time.Time, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, g.Client)
	at := cmp.Or(f.TokenURI, googleTokens)
	var source oauth2.TokenSource
	// Each type of credentials has its own way to a token.
	switch f.Type {
	case "service_account":
		c := jwt.Config{
			Email: f.ClientEmail, PrivateKey: []byte(f.PrivateKey), PrivateKeyID: f.PrivateKeyID, Scopes: []string{cloudScope},
			TokenURL: at,
		}
		source = c.TokenSource(ctx)
	case "authorized_user":
		c := oauth2.Config{
			ClientID: f.ClientID, ClientSecret: f.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: at, AuthStyle: oauth2.AuthStyleInParams},
		}
		source = c.TokenSource(ctx, &oauth2.Token{RefreshToken: f.RefreshToken})
	case metadataType:
		source = google.ComputeTokenSource("", cloudScope)
	case "external_account", "external_account_authorized_user", "impersonated_service_account":
		c, err := google.CredentialsFromJSONWithType(ctx, []byte(f.whole), google.CredentialsType(f.Type), cloudScope)
		if err != nil { // it may quote the file
			return "", time.Time{}, fmt.Errorf("the credentials in %s are invalid for their type %s", g.filePath(), f.Type)
		}
		source = c.TokenSource
	default:
		return "", time.Time{}, fmt.Errorf(
			"%s contains credentials of the unsupported type %.40q; use those of a service account, of gcloud auth "+
				"application-default login, or of workload identity federation",
			g.filePath(), f.Type,
		)
	}
	token, err := source.Token()
	if err != nil {
		return "", time.Time{}, tokenError("Google", err)
	}
	return token.AccessToken, token.Expiry, nil
}

func (g *Google) read() (googleFile, error) {
	var f googleFile
	info, err := os.Stat(g.filePath())
	switch {
	case errors.Is(err, fs.ErrNotExist) && g.hasMetadataServer():
		return googleFile{Type: metadataType}, nil
	case errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf(
			"no Google Cloud credentials found in %s; run gcloud auth application-default login, "+
				"or set GOOGLE_APPLICATION_CREDENTIALS",
			g.filePath(),
		)
	case err != nil:
		return f, err
	case !info.Mode().IsRegular() || info.Size() > maxGoogleFile:
		return f, fmt.Errorf("%s is not a credentials file", g.filePath())
	}
	raw, err := os.ReadFile(g.filePath())
	if err != nil {
		return f, err
	}
	if json.Unmarshal(raw, &f) != nil { // the decoder's error may quote the file
		return f, fmt.Errorf("%s is not a JSON object with credentials", g.filePath())
	}
	if f.Type != "service_account" && f.Type != "authorized_user" {
		f.whole = string(raw)
	}
	return f, nil
}

// tokenError returns why a token request failed, without what it sent. Failures of the server are retryable.
func tokenError(who string, err error) error {
	e, isAnswer := errors.AsType[*oauth2.RetrieveError](err)
	_, isNetwork := errors.AsType[*url.Error](err)
	switch {
	case isNetwork:
		return fmt.Errorf("%s issued no token: %w", who, transportError("the token's address", err))
	case !isAnswer: // err may quote the answer
		return fmt.Errorf("%s issued no token: the response is not from a token server", who)
	case e.Response.StatusCode >= 500 || e.Response.StatusCode == http.StatusTooManyRequests:
		return &llm.Error{
			Class: llm.Overloaded, Status: e.Response.StatusCode,
			Message: who + " issued no token; try again later: it answered with HTTP " + e.Response.Status,
		}
	case e.ErrorCode == "" && e.ErrorDescription == "":
		return fmt.Errorf("%s issued no token: the response is not from a token server (HTTP %s)", who, e.Response.Status)
	default:
		return fmt.Errorf(
			"%s issued no token: %w; log in again: gcloud auth application-default login", who,
			oauthError(e.ErrorCode, e.ErrorDescription),
		)
	}
}
