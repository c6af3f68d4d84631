package provider

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Credential authenticates requests. A key never changes; other credentials are fetched, renewed, or sign requests. A
// Credential is safe for concurrent use.
type Credential interface {
	// Authorize adds the credential to r, as the last step before r is sent with body. It may wait for a token. Its error
	// is fit for people and contains no secret.
	Authorize(ctx context.Context, r *http.Request, body []byte) error
	// Renew is called after the vendor rejected the credential of refused. It reports whether another attempt can use a
	// different one.
	Renew(ctx context.Context, refused *http.Request) (bool, error)
}

// TokenFetcher fetches a token and its expiry.
type TokenFetcher func(ctx context.Context) (token string, expires time.Time, err error)

// TokenCache returns a token that another process has fetched for the same secret, unless it is the refused one; else
// it calls fetch and stores the result for other processes.
type TokenCache func(ctx context.Context, secret, refused string, fetch TokenFetcher) (string, time.Time, error)

// getToken calls s, or fetch if s is nil.
func (s TokenCache) getToken(
	ctx context.Context, secret, refused string, fetch TokenFetcher,
) (string, time.Time, error) {
	if s == nil {
		return fetch(ctx)
	}
	return s(ctx, secret, refused, fetch)
}

// tokenMargin is the rest of a token's lifetime at which it is renewed.
const tokenMargin = 5 * time.Minute

// bearerToken keeps the short-lived token of a credential, which it sends in the Authorization header.
type bearerToken struct {
	mu      sync.Mutex // guards token and expires
	token   string
	expires time.Time // zero means never
}

// tokenRequest requests a token that is not the refused one; "" refuses none.
type tokenRequest func(ctx context.Context, refused string) (token string, expires time.Time, err error)

func (b *bearerToken) authorize(ctx context.Context, r *http.Request, request tokenRequest) error {
	token, err := b.get(ctx, "", request)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

func (b *bearerToken) renew(ctx context.Context, refused *http.Request, request tokenRequest) (bool, error) {
	old := strings.TrimPrefix(refused.Header.Get("Authorization"), "Bearer ")
	token, err := b.get(ctx, old, request)
	return err == nil && token != old, err
}

// get returns the token, or a requested one if it is the refused one or about to expire.
func (b *bearerToken) get(ctx context.Context, refused string, request tokenRequest) (string, error) {
	b.mu.Lock()
	token, expires := b.token, b.expires
	b.mu.Unlock()
	if token != "" && token != refused && (expires.IsZero() || time.Until(expires) > tokenMargin) {
		return token, nil
	}
	token, expires, err := request(ctx, refused)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.token, b.expires = token, expires
	return token, nil
}

// staticKey is a credential that is sent unchanged in a header.
type staticKey struct {
	header, value string
	exclusive     bool // removes an Authorization header of the configuration
}

func newStaticKey(v Vendor, value string) Credential {
	header := cmp.Or(v.KeyHeader, v.Wire.requestRules().keyHeader)
	switch {
	case value == "":
		return staticKey{}
	case header == "":
		return staticKey{header: "Authorization", value: "Bearer " + value}
	default:
		// a gateway forwards Authorization to the vendor behind it
		return staticKey{header, v.KeyPrefix + value, v.KeyPrefix == ""}
	}
}

// Authorize implements Credential.
func (k staticKey) Authorize(_ context.Context, r *http.Request, _ []byte) error {
	if k.value == "" {
		return nil
	}
	r.Header.Set(k.header, k.value)
	if k.exclusive {
		r.Header.Del("Authorization")
	}
	return nil
}

// Renew implements Credential: there is no other key.
func (staticKey) Renew(context.Context, *http.Request) (bool, error) { return false, nil }
