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

// FetchedName is the file beside that of the keys with the short-lived tokens that were fetched for what stands elsewhere: in
// the environment, or in files of vendors' own tools. It may go at any time, and costs one exchange.
const FetchedName = "auth.fetched.json"

// maxFetched bounds what is kept in it.
const maxFetched = 64

// fetchedToken is the stored form.
type fetchedToken struct {
	Access  string `json:"access"`
	Expires int64  `json:"expires"` // milliseconds since 1970
}

func (f fetchedToken) token() Token {
	return Token{Access: NewSecret(f.Access), Expires: time.UnixMilli(f.Expires)}
}

// FetchedFor names what is fetched for a secret of a provider, without telling the secret.
func FetchedFor(provider, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return provider + "#" + hex.EncodeToString(sum[:16])
}

// Fetched returns a token of that name other than refused: one that a process has fetched, else the one that fetch returns,
// which is kept for the others. No other process fetches meanwhile. Where nothing can be kept, each fetches its own.
func (s *Store) Fetched(ctx context.Context, name string, refused Secret, fetch func(context.Context) (Token, error)) (Token, error) {
	waiting, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	var out Token
	var locked bool
	var failed error
	path := s.fetchedPath()
	err := statefile.Change(waiting, path, func() error {
		locked = true
		all := readFetched(path)
		if out = all[name].token(); !out.Access.Equal(refused) && out.Fresh(time.Now()) {
			return nil
		}
		if out, failed = fetch(ctx); failed != nil || out.Expires.IsZero() {
			return nil
		}
		all[name] = fetchedToken{out.Access.Reveal(), out.Expires.UnixMilli()}
		return writeFetched(path, all)
	})
	if err != nil && !locked && ctx.Err() == nil {
		return fetch(ctx)
	}
	if !locked {
		failed = context.Cause(ctx)
	}
	return out, failed // that it could not be kept harms nobody
}

func (s *Store) fetchedPath() string { return filepath.Join(filepath.Dir(s.path), FetchedName) }

// readFetched reads what others fetched. What cannot be read is not there.
func readFetched(path string) map[string]fetchedToken {
	all := map[string]fetchedToken{}
	if raw, err := statefile.Read(path, maxFile); err != nil || json.Unmarshal(raw, &all) != nil || all == nil {
		return map[string]fetchedToken{}
	}
	return all
}

// writeFetched keeps those that can be used yet.
func writeFetched(path string, all map[string]fetchedToken) error {
	now := time.Now()
	maps.DeleteFunc(all, func(_ string, f fetchedToken) bool { return !f.token().Fresh(now) })
	for name := range all {
		if len(all) <= maxFetched {
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
