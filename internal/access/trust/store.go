package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// FileName is the file's name in the data directory.
const FileName = "trust.json"

const (
	maxFile    = 1 << 20
	maxEntries = 2048 // beyond it, the oldest are removed

	fileVersion = 1 // of the stored form, which has no member for it yet
)

// Entry is one content that is trusted in one checkout.
type Entry struct {
	Root    string `json:"root"`
	Project string `json:"project"`
	Hash    string `json:"hash"`
	Since   int64  `json:"since"` // milliseconds
}

// fileContent is the stored form.
type fileContent struct {
	Trusted []Entry        `json:"trusted"`
	Extra   jsontext.Value `json:",embed"`
}

// Store is the file of one data directory, which only its owner can read. It is safe for concurrent use by goroutines
// and processes.
type Store struct{ path string }

// New returns the store of a data directory, which need not exist yet.
func New(dataDir string) *Store { return &Store{filepath.Join(dataDir, FileName)} }

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// IsTrusted reports whether exactly this claim is trusted, with or without its plugins. An unreadable file trusts
// nothing.
func (s *Store) IsTrusted(c *Claim) bool { return s.contains(c, c.Hash(), c.HashWithoutPlugins()) }

func (s *Store) contains(c *Claim, hashes ...string) bool {
	all, err := s.readFile()
	return err == nil && slices.ContainsFunc(all.Trusted, func(e Entry) bool {
		return e.Root == c.Root && e.Project == c.Project && slices.Contains(hashes, e.Hash)
	})
}

// List returns what is trusted, by checkout.
func (s *Store) List() ([]Entry, error) {
	all, err := s.readFile()
	slices.SortStableFunc(all.Trusted, func(a, b Entry) int { return cmp.Compare(a.Root, b.Root) })
	return all.Trusted, err
}

// Trust stores the claim as trusted. Its allow rules have effect if nothing in it could guard them.
func (s *Store) Trust(ctx context.Context, c *Claim) error { return s.addEntry(ctx, c, c.Hash()) }

// TrustWithoutPlugins stores the claim as trusted, and that its allow rules have effect without its plugins.
func (s *Store) TrustWithoutPlugins(ctx context.Context, c *Claim) error {
	return s.addEntry(ctx, c, c.HashWithoutPlugins())
}

func (s *Store) addEntry(ctx context.Context, c *Claim, hash string) error {
	switch {
	case c.Problem != "":
		return errors.New(c.Problem)
	case c.IsEmpty():
		return errors.New("nothing in the project needs trust")
	}
	e := Entry{Root: c.Root, Project: c.Project, Hash: hash, Since: time.Now().UnixMilli()}
	if err := s.record(ctx, fmt.Sprintf("trust %s with the hash %s", e.Root, e.Hash)); err != nil {
		return err
	}
	return s.update(ctx, func(all []Entry) []Entry {
		all = slices.DeleteFunc(all, func(o Entry) bool {
			return o.Root == e.Root && o.Project == e.Project && o.Hash == e.Hash
		})
		all = append(all, e)
		return all[max(0, len(all)-maxEntries):]
	})
}

// Revoke removes everything that is trusted in a checkout and returns how many contents that were.
func (s *Store) Revoke(ctx context.Context, root string) (n int, err error) {
	if err := s.record(ctx, "revoke all trust in "+root); err != nil {
		return 0, err
	}
	err = s.update(ctx, func(all []Entry) []Entry {
		kept := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Root == root })
		n = len(all) - len(kept)
		return kept
	})
	return n, err
}

// record records a change in the audit log of the data directory.
func (s *Store) record(ctx context.Context, what string) error {
	return audit.New(filepath.Dir(s.path)).AddEntry(ctx, audit.KindTrust, what)
}

func (s *Store) readFile() (fileContent, error) {
	all := fileContent{Trusted: []Entry{}}
	raw, err := statefile.Read(s.path, maxFile)
	if raw == nil || err != nil {
		return all, err
	}
	if err := statefile.CheckVersion(s.path, raw, fileVersion); err != nil {
		return all, err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return fileContent{Trusted: []Entry{}}, fmt.Errorf("%s is damaged; move it away and trust again: %w", s.path, err)
	}
	return all, nil
}

func (s *Store) update(ctx context.Context, f func([]Entry) []Entry) error {
	return statefile.WithLock(ctx, s.path, func() error {
		all, err := s.readFile()
		if err != nil {
			return err
		}
		all.Trusted = f(all.Trusted)
		raw, err := json.Marshal(all, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return fmt.Errorf("encode %s: %w", s.path, err)
		}
		return statefile.Replace(s.path, append(raw, '\n'), 0o600)
	})
}
