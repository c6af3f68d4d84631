// Package auth stores the credentials of providers: in the keyring of the operating system if there is one, else in a
// file that only its owner can read. It also finds credentials in the environment. It never shows a key: lists name
// providers and kinds, errors name files, and a key travels as a Secret.
//
// The file lists all credentials, with a reference to those in the keyring. Several processes may use it: an update
// reads it, changes it and renames the new one into place under a lock beside it, so a reader never sees a part of a
// change.
//
// No order of crashes loses a key or leaves a secret in the keyring that nothing refers to. A secret gets a new name
// each time it is stored, and orphans.go keeps a write-ahead list of the names without a reference.
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

	"github.com/cairn-dev/cairn/internal/access/keyring"
)

// FileName is the file's name in the data directory.
const FileName = "auth.json"

// Fields of session errors about stored credentials: one that the keyring does not give out, and a file that cannot be
// read.
const (
	FieldKeyring = "auth.keyring"
	FieldFile    = "auth"
)

// maxFile bounds the file: thousands of credentials.
const maxFile = 1 << 20

// fileVersion is the version of the file's form, which has no member for it yet: its members are providers.
const fileVersion = 1

// Kind is the kind of a credential.
type Kind string

// The kinds. Credentials of other kinds are listed and survive every change, but are not used.
const (
	KindKey   Kind = "api"
	KindOAuth Kind = "oauth"
)

// Credential is the credential of one provider.
type Credential struct {
	Kind  Kind
	Key   Secret // of KindKey
	Token        // of KindOAuth
	From  string // where it was found: the file's path, the keyring, or "$VARIABLE"
	// Instead is why the stored credential, which has precedence, is not used: an Unreachable; nil if none is stored.
	Instead error
}

// Store holds the credentials of one data directory. It is safe for concurrent use by goroutines and processes.
type Store struct {
	path    string
	orphans string // the path of the write-ahead list of secrets in the keyring
	getenv  func(string) string
	keyring keyring.Keyring // nil on systems without one
	cache   keyringCache
}

// New returns the store of a data directory, which need not exist yet. getenv looks up environment variables. With
// CAIRN_DISABLE_KEYRING, new credentials go into the file; those in the keyring are still read.
func New(dataDir string, getenv func(string) string) *Store {
	return newStore(dataDir, FileName, orphansName, getenv)
}

func newStore(dataDir, file, orphans string, getenv func(string) string) *Store {
	return &Store{
		path: filepath.Join(dataDir, file), orphans: filepath.Join(dataDir, orphans), getenv: getenv,
		keyring: keyring.Open(getenv),
	}
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Get returns the credential of a provider: the stored one, else the first of the environment variables names that is
// set. ok is false without a key. If the keyring does not give out the stored one, a variable is used in its place;
// without one, the error is an Unreachable.
func (s *Store) Get(provider string, names ...string) (c Credential, ok bool, err error) {
	c, ok, err = s.lookup(provider, names)
	if errors.Is(err, keyring.ErrNotFound) || errors.Is(c.Instead, keyring.ErrNotFound) {
		return s.lookup(provider, names) // another process replaced it after the file was read
	}
	return c, ok, err
}

// lookup finds the credential of a provider: a stored one, else the first of the environment variables in names, else a
// login of an organisation that sets such a variable. An unreachable keyring does not hide the others; the credential
// found in its place carries the error in Instead.
func (s *Store) lookup(provider string, names []string) (c Credential, ok bool, err error) {
	all, err := s.readFile()
	if err != nil {
		return Credential{}, false, err
	}
	// A stored credential comes first. If its secret cannot be read now, go on and remember why.
	var unreachable error
	if e, found := all[provider]; found && e.invalid == "" {
		opened, err := s.withSecrets(context.Background(), provider, e)
		switch {
		case err != nil:
			unreachable = err
		case opened.Type != KindKey || opened.Key != "":
			c := Credential{Kind: opened.Type, Key: NewSecret(opened.Key), Token: opened.toToken()}
			c.From = s.describeEntryPlace(e)
			return c, true, nil
		}
	}
	// For each variable: its value in the environment, else the token of the login that provides it.
	for _, name := range names {
		if v := strings.TrimSpace(s.getenv(name)); v != "" {
			return Credential{Kind: KindKey, Key: NewSecret(v), From: "$" + name, Instead: unreachable}, true, nil
		}
		token, address, err := s.findLoginToken(all, name)
		unreachable = cmp.Or(unreachable, err)
		if !token.IsZero() {
			c := Credential{Kind: KindKey, Key: token, From: "the login at " + address, Instead: unreachable}
			return c, true, nil
		}
	}
	// Nothing was found; the reason may be that the keyring is not reachable.
	return Credential{}, false, unreachable
}

// findLoginToken returns the token of the login whose configuration calls it name, and the address of the login.
func (s *Store) findLoginToken(all map[string]entry, name string) (token Secret, address string, err error) {
	for _, address := range slices.Sorted(maps.Keys(all)) {
		e := all[address]
		if e.Type != KindWellKnown || e.Key != name {
			continue
		}
		if e, err = s.withSecrets(context.Background(), address, e); err == nil && !e.loginToken().IsZero() {
			return e.loginToken(), address, nil
		}
	}
	return Secret{}, "", err
}

// Set stores the key of a provider in place of what was stored.
func (s *Store) Set(ctx context.Context, provider string, key Secret) error {
	k := trimKey(key)
	switch {
	case provider == "" || strings.ContainsAny(provider, "/ \t\r\n"):
		return newInvalidError("%q is not a provider id", provider)
	case k == "":
		return newInvalidError("the key for %s is empty", provider)
	case k == Hidden:
		return newInvalidError("the key for %s is the text that cairn shows in place of keys; give the key itself", provider)
	case strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r >= 0x7f }): // not allowed in a header
		return newInvalidError(
			"the key for %s contains a space, a line break or a character that is not ASCII; copy it again", provider,
		)
	}
	return s.storeEntry(ctx, provider, entry{Type: KindKey, Key: k})
}

// trimKey removes what is copied or piped along with a key: white space, and invisible marks.
func trimKey(key Secret) string {
	return strings.TrimFunc(key.Reveal(), func(r rune) bool {
		return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b'
	})
}

// InvalidError reports a credential that cannot be stored because it is invalid.
type InvalidError struct{ why string }

func (u *InvalidError) Error() string { return u.why }

func newInvalidError(format string, args ...any) error {
	return &InvalidError{fmt.Sprintf(format, args...)}
}

// Remove deletes the credential of a provider and reports whether there was one. A secret that the keyring cannot
// delete now becomes one of its Orphans.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	var had bool
	err := s.update(ctx, func(b *txn) error {
		had = b.removeEntry(provider)
		return nil
	})
	return had, err
}
