package provider

import (
	"context"
	"net/http"
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

// key is a credential that goes into a header as it is.
type key struct{ header, value string }

func keyFor(header, value string) Credential {
	switch {
	case value == "":
		return key{}
	case header == "":
		return key{"Authorization", "Bearer " + value}
	default:
		return key{header, value}
	}
}

// Authorize implements Credential. A key of its own takes the place of what the configuration may have put there.
func (k key) Authorize(_ context.Context, r *http.Request, _ []byte) error {
	if k.value == "" {
		return nil
	}
	r.Header.Set(k.header, k.value)
	if k.header != "Authorization" {
		r.Header.Del("Authorization")
	}
	return nil
}

// Renew implements Credential: there is no other key.
func (key) Renew(context.Context, *http.Request) (bool, error) { return false, nil }
