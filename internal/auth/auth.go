// Package auth keeps the credentials of providers: in the keyring of the operating system where there is one, else in a
// file that only its owner can read; and it finds those that the environment holds. It never shows a key: lists name
// providers and kinds, errors name files, and a key travels as a Secret.
//
// The file says what there is, also of what the keyring holds. Several processes may use it: every change is read, made
// and renamed into place under a lock beside it, so a reader sees the file of before or after a change, never a part.
package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/keyring"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// FileName is the file's name in the data directory.
const FileName = "auth.json"

// maxFile bounds the file: thousands of credentials.
const maxFile = 1 << 20

// Kind says what a credential is.
type Kind string

// The kinds. Credentials of other kinds survive every change and are listed, but give nothing.
const (
	KindKey   Kind = "api"
	KindOAuth Kind = "oauth"
)

// Credential is what is stored for one provider.
type Credential struct {
	Kind  Kind
	Key   Secret // of KindKey
	Token        // of KindOAuth
	From  string // where it was found: the file's path, the keyring, or "$VARIABLE"
}

// Info tells of a stored credential without showing it.
type Info struct {
	Provider string `json:"provider"`
	Kind     Kind   `json:"kind"`
	From     string `json:"from"` // as of a Credential
}

// Store is what one data directory has. Safe for concurrent use by goroutines and processes.
type Store struct {
	path   string
	getenv func(string) string
	ring   keyring.Ring // nil where there is none
	opened opened
}

// New returns the store of a data directory, which need not exist yet. getenv looks up environment variables;
// CAIRN_DISABLE_KEYRING keeps it from using the keyring for anything but what is there.
func New(dataDir string, getenv func(string) string) *Store {
	return &Store{path: filepath.Join(dataDir, FileName), getenv: getenv, ring: keyring.System(getenv)}
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// entry is the stored form, that of OpenCode's auth.json for keys; other members survive.
type entry struct {
	Type    Kind           `json:"type"`
	Key     string         `json:"key,omitzero"`
	Refresh string         `json:"refresh,omitzero"`
	Access  string         `json:"access,omitzero"`
	Expires int64          `json:"expires,omitzero"` // milliseconds since 1970; 0 is never
	Ring    string         `json:"keyring,omitzero"` // the keyring's name of the whole entry, of which only the kind stands here
	Extra   jsontext.Value `json:",embed"`
}

// Get returns the credential of a provider: the stored one, else the first of the environment variables names that is
// set. ok is false when there is none.
func (s *Store) Get(provider string, names ...string) (c Credential, ok bool, err error) {
	if c, ok, err = s.get(provider, names); errors.Is(err, keyring.ErrNone) {
		return s.get(provider, names) // somebody may have changed it between the file and the keyring
	}
	return c, ok, err
}

func (s *Store) get(provider string, names []string) (c Credential, ok bool, err error) {
	all, err := s.read()
	if err != nil {
		return Credential{}, false, err
	}
	if e, found := all[provider]; found {
		from := s.placeOf(e)
		if e, err = s.open(context.Background(), provider, e); err != nil {
			return Credential{}, false, err
		}
		if e.Type != KindKey || e.Key != "" {
			return Credential{e.Type, NewSecret(e.Key), e.token(), from}, true, nil
		}
	}
	for _, name := range names {
		if v := strings.TrimSpace(s.getenv(name)); v != "" {
			return Credential{Kind: KindKey, Key: NewSecret(v), From: "$" + name}, true, nil
		}
		for _, address := range slices.Sorted(maps.Keys(all)) {
			e := all[address]
			if e.Type != KindWellKnown || e.Key != name {
				continue
			}
			if e, err = s.open(context.Background(), address, e); err != nil {
				return Credential{}, false, err
			}
			if !e.loginToken().IsZero() {
				return Credential{Kind: KindKey, Key: e.loginToken(), From: "the login at " + address}, true, nil
			}
		}
	}
	return Credential{}, false, nil
}

// Set stores the key of a provider in place of what was stored.
func (s *Store) Set(ctx context.Context, provider string, key Secret) error {
	k := strings.TrimSpace(key.Reveal())
	switch {
	case provider == "" || strings.ContainsAny(provider, "/ \t\r\n"):
		return fmt.Errorf("%q is not the id of a provider", provider)
	case k == "":
		return fmt.Errorf("the key for %s is empty", provider)
	case strings.ContainsFunc(k, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the key for %s holds a control character; copy it again", provider)
	}
	return s.put(ctx, provider, entry{Type: KindKey, Key: k})
}

// Remove deletes what is stored for a provider and reports whether there was anything.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	var had bool
	err := s.change(ctx, func(b *book) error {
		had = b.remove(provider)
		return nil
	})
	return had, err
}

// List names what is stored, by provider.
func (s *Store) List() ([]Info, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Info{p, all[p].Type, s.placeOf(all[p])})
	}
	return list, nil
}

func (s *Store) read() (map[string]entry, error) {
	all := map[string]entry{}
	raw, err := statefile.Read(s.path, maxFile)
	if raw == nil || err != nil {
		return all, err
	}
	if err := json.Unmarshal(raw, &all); err != nil { // err may quote the file: it is not shown
		return nil, fmt.Errorf("%s is not a JSON object of credentials%s; repair it, or move it away and run cairn auth login", s.path, offset(err))
	}
	if all == nil {
		all = map[string]entry{}
	}
	return all, nil
}

func offset(err error) string {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf(" (at byte %d)", e.ByteOffset)
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Sprintf(" (at byte %d)", e.ByteOffset)
	}
	return ""
}
