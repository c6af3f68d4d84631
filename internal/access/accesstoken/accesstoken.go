// Package accesstoken keeps the scoped tokens with which clients call the server. A token is shown once, when it is
// created; the file has only its hash. All processes of a data directory share the file and read it for each token that
// a request bears, so a change has an effect at once.
package accesstoken

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// FileName is the file's name in the data directory.
const FileName = "tokens.json"

// Prefix begins every token.
const Prefix = "cairn_"

const (
	maxFile   = 256 << 10
	maxTokens = 64
	maxName   = 64

	fileVersion = 1 // of the stored form, which has no member for it yet

	// usedEvery is the resolution of the time of the last use: writing the file takes longer than most requests.
	usedEvery = time.Minute
)

// Record describes a token. Times are in milliseconds; 0 is never.
type Record struct {
	ID      string      `json:"id"`
	Name    string      `json:"name,omitzero"`
	Role    caller.Role `json:"scope"`
	Created int64       `json:"created"`
	Used    int64       `json:"used,omitzero"`
	Expires int64       `json:"expires,omitzero"`
}

// IsExpired reports whether the token is no longer valid.
func (t Record) IsExpired(now time.Time) bool { return t.Expires != 0 && now.UnixMilli() >= t.Expires }

// entry is a stored token.
type entry struct {
	Record

	Hash string `json:"hash"` // of the whole token, SHA-256 in hex: it has 256 random bits
}

// tokenFile is the stored form.
type tokenFile struct {
	Tokens []entry        `json:"tokens"`
	Extra  jsontext.Value `json:",embed"`
}

// File is the file of tokens of one data directory, which only its owner can read. A nil File verifies no token. It is
// safe for concurrent use by goroutines and processes.
type File struct{ path string }

// New returns the store of a data directory, which need not exist yet.
func New(dataDir string) *File { return &File{filepath.Join(dataDir, FileName)} }

// Create adds a token and returns it with its secret, which is stored nowhere. life 0 does not expire.
func (s *File) Create(
	ctx context.Context,
	role caller.Role,
	name string,
	life time.Duration,
) (Record, string, error) {
	if err := checkName(name); err != nil {
		return Record{}, "", err
	}
	var b [36]byte
	_, _ = rand.Read(b[:]) // never fails
	now := time.Now()
	t := Record{ID: hex.EncodeToString(b[:4]), Name: name, Role: role, Created: now.UnixMilli()}
	if life > 0 {
		t.Expires = now.Add(life).UnixMilli()
	}
	secret := Prefix + t.ID + "_" + hex.EncodeToString(b[4:])
	err := s.update(ctx, func(all []entry) ([]entry, error) {
		all = slices.DeleteFunc(all, func(e entry) bool { return e.IsExpired(now) })
		if len(all) >= maxTokens {
			return nil, session.Errorf(session.CodeTooMany,
				"there are %d tokens, the limit; end one with cairn token revoke", len(all))
		}
		all = append(all, entry{t, hashToken(secret)})
		return all, s.record(ctx, fmt.Sprintf("create %s with the scope %s", t.ID, role))
	})
	return t, secret, err
}

func checkName(name string) error {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r > 0xffff {
			return session.Errorf(session.CodeInvalid, "the name of a token must be printable text, got %q", name).At("name")
		}
	}
	if len(name) > maxName {
		return session.Errorf(session.CodeInvalid, "the name has %d bytes, the limit is %d", len(name), maxName).At("name")
	}
	return nil
}

// List returns the tokens, the oldest first, expired ones included.
func (s *File) List() ([]Record, error) {
	all, err := s.readFile()
	out := make([]Record, len(all.Tokens))
	for i, e := range all.Tokens {
		out[i] = e.Record
	}
	return out, err
}

// Revoke removes the token with the id.
func (s *File) Revoke(ctx context.Context, id string) error {
	return s.update(ctx, func(all []entry) ([]entry, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.ID == id })
		if len(rest) == len(all) {
			return nil, session.NotFound("token", id)
		}
		return rest, s.record(ctx, "revoke "+id)
	})
}

// record records a change in the audit log of the data directory.
func (s *File) record(ctx context.Context, what string) error {
	return audit.New(filepath.Dir(s.path)).AddEntry(ctx, audit.KindToken, what)
}

// Verify returns the token that the text is; false for an unknown, expired or revoked one. A file that cannot be read
// has no tokens. The last use is recorded, as far as the file can be written.
func (s *File) Verify(ctx context.Context, text string) (Record, bool) {
	id, _, ok := strings.Cut(strings.TrimPrefix(text, Prefix), "_")
	if !ok || !strings.HasPrefix(text, Prefix) {
		return Record{}, false
	}
	e, ok := s.find(id)
	if !ok || subtle.ConstantTimeCompare([]byte(e.Hash), []byte(hashToken(text))) != 1 {
		return Record{}, false
	}
	s.recordUse(ctx, e.Record)
	return e.Record, true
}

// IsValid reports whether there is a token with the id that has not expired.
func (s *File) IsValid(id string) bool {
	_, ok := s.find(id)
	return ok
}

func (s *File) find(id string) (entry, bool) {
	if s == nil {
		return entry{}, false
	}
	all, err := s.readFile()
	i := slices.IndexFunc(all.Tokens, func(e entry) bool { return e.ID == id })
	if err != nil || i < 0 || all.Tokens[i].IsExpired(time.Now()) {
		return entry{}, false
	}
	return all.Tokens[i], true
}

// recordUse stores that the token is used now.
func (s *File) recordUse(ctx context.Context, t Record) {
	now := time.Now()
	if now.Sub(time.UnixMilli(t.Used)) < usedEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.update(ctx, func(all []entry) ([]entry, error) { // a full disk locks no client out
		for i := range all {
			if all[i].ID == t.ID {
				all[i].Used = now.UnixMilli()
			}
		}
		return all, nil
	})
}

func hashToken(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *File) readFile() (tokenFile, error) {
	var all tokenFile
	raw, err := statefile.Read(s.path, maxFile)
	if raw == nil || err != nil {
		return tokenFile{}, err
	}
	if err := statefile.CheckVersion(s.path, raw, fileVersion); err != nil {
		return tokenFile{}, err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return tokenFile{}, fmt.Errorf("%s is damaged; move it away and create the tokens again: %w", s.path, err)
	}
	return all, nil
}

func (s *File) update(ctx context.Context, f func([]entry) ([]entry, error)) error {
	return statefile.WithLock(ctx, s.path, func() error {
		all, err := s.readFile()
		if err != nil {
			return err
		}
		if all.Tokens, err = f(all.Tokens); err != nil {
			return err
		}
		raw, err := json.Marshal(all, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return fmt.Errorf("encode %s: %w", s.path, err)
		}
		return statefile.Replace(s.path, append(raw, '\n'), 0o600)
	})
}
