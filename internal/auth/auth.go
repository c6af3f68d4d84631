// Package auth keeps the credentials of providers: in the keyring of the operating system where there is one, else in a
// file that only its owner can read; and it finds those that the environment holds. It never shows a key: lists name
// providers and kinds, errors name files, and a key travels as a Secret.
//
// The file says what there is, also of what the keyring holds. Several processes may use it: every change is read, made
// and renamed into place under a lock beside it, so a reader sees the file of before or after a change, never a part.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/keyring"
)

// FileName is the file's name in the data directory.
const FileName = "auth.json"

// Fields of session errors about stored credentials: one that the keyring does not give out, and a file that cannot be read.
const (
	FieldKeyring = "auth.keyring"
	FieldFile    = "auth"
)

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
	// Instead says why it stands in for the stored one, which would go before it: an Unreachable; nil if it does not.
	Instead error
}

// Store is what one data directory has. Safe for concurrent use by goroutines and processes.
type Store struct {
	path   string
	getenv func(string) string
	ring   keyring.Keyring // nil where there is none
	opened opened
}

// New returns the store of a data directory, which need not exist yet. getenv looks up environment variables;
// CAIRN_DISABLE_KEYRING keeps it from using the keyring for anything but what is there.
func New(dataDir string, getenv func(string) string) *Store {
	return &Store{path: filepath.Join(dataDir, FileName), getenv: getenv, ring: keyring.Open(getenv)}
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Get returns the credential of a provider: the stored one, else the first of the environment variables names that is
// set. ok is false when there is none. A stored one that the keyring does not give out is an Unreachable, unless there is
// one in the environment, which then stands in for it.
func (s *Store) Get(provider string, names ...string) (c Credential, ok bool, err error) {
	if c, ok, err = s.get(provider, names); errors.Is(err, keyring.ErrNotFound) || errors.Is(c.Instead, keyring.ErrNotFound) {
		return s.get(provider, names) // somebody may have changed it between the file and the keyring
	}
	return c, ok, err
}

func (s *Store) get(provider string, names []string) (c Credential, ok bool, err error) {
	all, err := s.read()
	if err != nil {
		return Credential{}, false, err
	}
	var missed error
	if e, found := all[provider]; found && e.wrong == "" {
		opened, err := s.open(context.Background(), provider, e)
		switch {
		case err != nil:
			missed = err
		case opened.Type != KindKey || opened.Key != "":
			return Credential{opened.Type, NewSecret(opened.Key), opened.token(), s.placeOf(e), nil}, true, nil
		}
	}
	for _, name := range names {
		if v := strings.TrimSpace(s.getenv(name)); v != "" {
			return Credential{Kind: KindKey, Key: NewSecret(v), From: "$" + name, Instead: missed}, true, nil
		}
		token, address, err := s.loginOf(all, name)
		missed = cmp.Or(missed, err)
		if !token.IsZero() {
			return Credential{Kind: KindKey, Key: token, From: "the login at " + address, Instead: missed}, true, nil
		}
	}
	return Credential{}, false, missed
}

// loginOf returns the token of a login by the name by which its configuration calls it, and the address of the login.
func (s *Store) loginOf(all map[string]entry, name string) (token Secret, address string, err error) {
	for _, address := range slices.Sorted(maps.Keys(all)) {
		e := all[address]
		if e.Type != KindWellKnown || e.Key != name {
			continue
		}
		if e, err = s.open(context.Background(), address, e); err == nil && !e.loginToken().IsZero() {
			return e.loginToken(), address, nil
		}
	}
	return Secret{}, "", err
}

// Set stores the key of a provider in place of what was stored.
func (s *Store) Set(ctx context.Context, provider string, key Secret) error {
	k := trimmed(key)
	switch {
	case provider == "" || strings.ContainsAny(provider, "/ \t\r\n"):
		return unfit("%q is not the id of a provider", provider)
	case k == "":
		return unfit("the key for %s is empty", provider)
	case strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r >= 0x7f }): // no request could carry it
		return unfit("the key for %s holds a space, a line break or a character that is not ASCII; copy it again", provider)
	}
	return s.put(ctx, provider, entry{Type: KindKey, Key: k})
}

// trimmed is a key without what comes along when it is copied or piped: space, and marks that nobody sees.
func trimmed(key Secret) string {
	return strings.TrimFunc(key.Reveal(), func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' })
}

// Unfit is why something given cannot be kept: it is no key, or of no provider.
type Unfit struct{ why string }

func (u *Unfit) Error() string { return u.why }

func unfit(format string, args ...any) error { return &Unfit{fmt.Sprintf(format, args...)} }

// Remove deletes what is stored for a provider and reports whether there was anything. What the keyring does not forget
// now is Left there.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	var had bool
	err := s.change(ctx, func(b *book) error {
		had = b.remove(provider)
		return nil
	})
	return had, err
}
