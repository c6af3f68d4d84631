package auth

import (
	"context"
	"fmt"
	"time"
)

// Token is the outcome of a login with OAuth.
type Token struct {
	Refresh Secret
	Access  Secret
	Expires time.Time // of Access; zero is never
}

// renewMargin is the remaining validity at which an access token is renewed.
const renewMargin = 5 * time.Minute

// IsFresh reports whether the access token does not expire within renewMargin.
func (t Token) IsFresh(now time.Time) bool {
	return !t.Access.IsZero() && (t.Expires.IsZero() || t.Expires.Sub(now) > renewMargin)
}

func (e entry) toToken() Token {
	if e.Type != KindOAuth {
		return Token{}
	}
	t := Token{Refresh: NewSecret(e.Refresh), Access: NewSecret(e.Access)}
	if e.Expires > 0 {
		t.Expires = time.UnixMilli(e.Expires)
	}
	return t
}

func (e *entry) setToken(t Token) {
	e.Type, e.Refresh, e.Access, e.Expires = KindOAuth, t.Refresh.Reveal(), t.Access.Reveal(), 0
	if !t.Expires.IsZero() {
		e.Expires = t.Expires.UnixMilli()
	}
}

// SetToken stores the token of a login in place of what was stored.
func (s *Store) SetToken(ctx context.Context, provider string, t Token) error {
	var e entry
	e.setToken(t)
	if why := e.invalidReason(); why != "" {
		return newInvalidError("the token of %s is invalid: %s", provider, why)
	}
	return s.storeEntry(ctx, provider, e)
}

// Renew returns a token with another access token than old: the stored one if another process has renewed it, else the
// result of renew, which is stored. The lock of the file is held meanwhile, so that each refresh token is used once.
func (s *Store) Renew(
	ctx context.Context, provider string, old Token, renew func(Token) (Token, error),
) (Token, error) {
	var out Token
	err := s.update(ctx, func(b *txn) error {
		e, ok, err := b.lookup(ctx, provider)
		if err != nil {
			return err
		}
		if !ok || e.Type != KindOAuth {
			return fmt.Errorf("no login is stored for %s; run cairn auth login %[1]s", provider)
		}
		if out = e.toToken(); !out.Access.Equal(old.Access) && out.IsFresh(time.Now()) {
			return nil
		}
		if out, err = renew(e.toToken()); err != nil {
			return err
		}
		at := e.placeOf()
		e.setToken(out)
		if why := e.invalidReason(); why != "" { // the stored one stays
			return fmt.Errorf("the token from %s is invalid: %s", provider, why)
		}
		keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyringTimeout)
		defer cancel()
		return b.put(keeping, provider, e, at) // in the file if the keyring fails: the old one may be invalid now
	})
	return out, err
}
