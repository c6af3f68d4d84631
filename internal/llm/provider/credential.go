package provider

import (
	"cmp"
	"context"
	"net/http"
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
