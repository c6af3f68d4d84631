package auth

import (
	"context"
	"fmt"
	"time"
)

// Token is what a login with OAuth left: the right to ask for access, and the access that there is.
type Token struct {
	Refresh Secret
	Access  Secret
	Expires time.Time // of Access; zero is never
}

// margin is how long before it expires an access token is renewed (spec/v2 §19.3).
const margin = 5 * time.Minute

// Fresh reports whether the access can be used for a while yet.
func (t Token) Fresh(now time.Time) bool {
	return !t.Access.IsZero() && (t.Expires.IsZero() || t.Expires.Sub(now) > margin)
}

func (e entry) token() Token {
	if e.Type != KindOAuth {
		return Token{}
	}
	t := Token{Refresh: NewSecret(e.Refresh), Access: NewSecret(e.Access)}
	if e.Expires > 0 {
		t.Expires = time.UnixMilli(e.Expires)
	}
	return t
}

func (e *entry) keep(t Token) {
	e.Type, e.Refresh, e.Access, e.Expires = KindOAuth, t.Refresh.Reveal(), t.Access.Reveal(), 0
	if !t.Expires.IsZero() {
		e.Expires = t.Expires.UnixMilli()
	}
}

// SetToken stores the outcome of a login in place of what was stored.
func (s *Store) SetToken(ctx context.Context, provider string, t Token) error {
	var e entry
	e.keep(t)
	if why := e.lacks(); why != "" {
		return unfit("the token of %s is none: %s", provider, why)
	}
	return s.put(ctx, provider, e)
}

// Renewed returns a token other than old: the stored one if somebody else has renewed it, else the one that renew
// makes of it, which is stored. No other process renews the provider's tokens meanwhile, so that each refresh token is
// used once.
func (s *Store) Renewed(ctx context.Context, provider string, old Token, renew func(Token) (Token, error)) (Token, error) {
	var out Token
	err := s.change(ctx, func(b *book) error {
		e, ok, err := b.get(ctx, provider)
		if err != nil {
			return err
		}
		if !ok || e.Type != KindOAuth {
			return fmt.Errorf("nobody is logged in at %s any more; run cairn auth login %[1]s", provider)
		}
		if out = e.token(); !out.Access.Equal(old.Access) && out.Fresh(time.Now()) {
			return nil
		}
		if out, err = renew(e.token()); err != nil {
			return err
		}
		at := e.place()
		e.keep(out)
		if why := e.lacks(); why != "" { // what is kept can still be used
			return fmt.Errorf("what %s gave is no token: %s", provider, why)
		}
		keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringWait)
		defer cancel()
		return b.keep(keeping, provider, e, at) // in the file if need be: it may be the only one that is accepted
	})
	return out, err
}
