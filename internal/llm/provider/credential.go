package provider

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// Credential is what makes a vendor accept a request. A Key is one that never changes; others fetch, renew and sign.
// It is safe for concurrent use.
type Credential interface {
	// Authorize puts the credential on r as the last thing before it is sent; body is what r will carry. It may wait for
	// a token. Its error is for people and holds no secret.
	Authorize(ctx context.Context, r *http.Request, body []byte) error
	// Renew is asked after the vendor refused what Authorize put on refused. It reports whether to send the request once
	// more, with another.
	Renew(ctx context.Context, refused *http.Request) (bool, error)
}

// Fetch gets a token that holds until a time.
type Fetch func(ctx context.Context) (token string, expires time.Time, err error)

// Shared returns a token that another process has fetched for the same secret and that is not the refused one, else the one
// that fetch returns, which it keeps for the others.
type Shared func(ctx context.Context, secret, refused string, fetch Fetch) (string, time.Time, error)

// token is s, which may be nil.
func (s Shared) token(ctx context.Context, secret, refused string, fetch Fetch) (string, time.Time, error) {
	if s == nil {
		return fetch(ctx)
	}
	return s(ctx, secret, refused, fetch)
}

// key is a credential that goes into a header as it is.
type key struct {
	header, value string
	alone         bool // no Authorization beside it, which would come from the configuration
}

func keyFor(v Vendor, value string) Credential {
	header := cmp.Or(v.KeyHeader, v.Wire.facts().keyHeader)
	switch {
	case value == "":
		return key{}
	case header == "":
		return key{header: "Authorization", value: "Bearer " + value}
	default:
		return key{header, v.KeyPrefix + value, v.KeyPrefix == ""} // a gateway passes on what is meant for whom it stands before
	}
}

// Authorize implements Credential.
func (k key) Authorize(_ context.Context, r *http.Request, _ []byte) error {
	if k.value == "" {
		return nil
	}
	r.Header.Set(k.header, k.value)
	if k.alone {
		r.Header.Del("Authorization")
	}
	return nil
}

// Renew implements Credential: there is no other key.
func (key) Renew(context.Context, *http.Request) (bool, error) { return false, nil }

// home is the user's directory, as the tools of vendors find it.
func home(getenv func(string) string) string { return cmp.Or(getenv("HOME"), getenv("USERPROFILE")) }
