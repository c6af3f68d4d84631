package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// SharedName is the file with short-lived tokens for credentials that cairn does not store: those of the environment,
// and files of vendors' own tools. If it is deleted, the tokens are fetched again.
const SharedName = "auth.fetched.json"

// maxShared bounds the tokens in the file.
const maxShared = 64

// sharedToken is the stored form of a token.
type sharedToken struct {
	Access  string `json:"access"`
	Expires int64  `json:"expires"` // milliseconds since 1970
}

func (f sharedToken) toToken() Token {
	return Token{Access: NewSecret(f.Access), Expires: time.UnixMilli(f.Expires)}
}

// FetchName returns the name of the token for a secret of a provider. It does not contain the secret.
func FetchName(provider, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return provider + "#" + hex.EncodeToString(sum[:16])
}

// FetchShared returns a token of that name other than refused: a stored one, else the result of fetch, which is
// stored. One process fetches for all that ask at once. If the file cannot be written, each fetches its own.
func (s *Store) FetchShared(
	ctx context.Context, name string, refused Secret, fetch func(context.Context) (Token, error),
) (Token, error) {
	waiting, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	var out Token
	var locked bool
	var failed error
	path := s.sharedPath()
	err := statefile.WithLock(waiting, path, func() error {
		locked = true
		all := readShared(path)
		if out = all[name].toToken(); !out.Access.Equal(refused) && out.IsFresh(time.Now()) {
			return nil
		}
		if out, failed = fetch(ctx); failed != nil || out.Expires.IsZero() {
			return nil
		}
		all[name] = sharedToken{out.Access.Reveal(), out.Expires.UnixMilli()}
		return writeShared(path, all)
	})
	if err != nil && !locked && ctx.Err() == nil {
		return fetch(ctx)
	}
	if !locked {
		failed = context.Cause(ctx)
	}
	return out, failed // a token that could not be stored can still be used
}

func (s *Store) sharedPath() string { return filepath.Join(filepath.Dir(s.path), SharedName) }

// readShared returns the stored tokens; none if the file is invalid.
func readShared(path string) map[string]sharedToken {
	all := map[string]sharedToken{}
	if raw, err := statefile.Read(path, maxFile); err != nil || json.Unmarshal(raw, &all) != nil || all == nil {
		return map[string]sharedToken{}
	}
	return all
}

// writeShared stores the tokens that are still fresh.
func writeShared(path string, all map[string]sharedToken) error {
	now := time.Now()
	maps.DeleteFunc(all, func(_ string, f sharedToken) bool { return !f.toToken().IsFresh(now) })
	for name := range all {
		if len(all) <= maxShared {
			break
		}
		delete(all, name)
	}
	raw, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		return err
	}
	statefile.Clean(path)
	return statefile.Replace(path, append(raw, '\n'), 0o600)
}
