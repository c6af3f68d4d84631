package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/keyring"
)

// Place names the location of a stored credential.
type Place string

// The places.
const (
	InKeyring Place = "keyring"
	InFile    Place = "file"
)

const (
	keyringTimeout = 2 * time.Second  // of calls that do not prompt
	promptTimeout  = 30 * time.Second // of calls that may prompt the user
	downTime       = 10 * time.Second // between attempts to read a keyring that failed
)

// preferredPlace returns where a new credential goes.
func (s *Store) preferredPlace() Place {
	off := s.getenv("CAIRN_DISABLE_KEYRING")
	if s.keyring == nil || off == "1" || strings.EqualFold(off, "true") {
		return InFile
	}
	return InKeyring
}

func (e entry) placeOf() Place {
	if e.KeyringName != "" {
		return InKeyring
	}
	return InFile
}

func (s *Store) describeEntryPlace(e entry) string {
	if e.placeOf() == InKeyring {
		return "the keyring"
	}
	return s.path
}

// keyringCache caches entries that were read from the keyring, by their names there. The content of a name never
// changes.
type keyringCache struct {
	mu         sync.Mutex // guards what follows
	entries    map[string]entry
	downErr    error // of reads until downUntil, so that not every read waits for a keyring that fails
	downUntil  time.Time
	cleanUpErr error // of the last attempt to delete orphans
	setErr     error // of the last attempt to store a secret
}

// lookup returns a cached entry, and the error of a keyring that is down.
func (o *keyringCache) lookup(name string) (e entry, ok bool, down error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().Before(o.downUntil) {
		down = o.downErr
	}
	e, ok = o.entries[name]
	return e, ok, down
}

// markDown makes reads fail with err for downTime.
func (o *keyringCache) markDown(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.downErr, o.downUntil = err, time.Now().Add(downTime)
}

// isDown reports whether reads fail at present.
func (o *keyringCache) isDown() bool {
	_, _, down := o.lookup("")
	return down != nil
}

// recordCleanUp stores the outcome of an attempt to delete orphans. A locked keyring may still be readable, so it is
// not marked as down.
func (o *keyringCache) recordCleanUp(why error) {
	if why != nil && !errors.Is(why, keyring.ErrLocked) && !o.isDown() {
		o.markDown(why)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cleanUpErr = why
}

func (o *keyringCache) lastCleanUpError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cleanUpErr
}

// recordSet stores the outcome of an attempt to store a secret.
func (o *keyringCache) recordSet(why error) {
	if why != nil && !errors.Is(why, keyring.ErrLocked) {
		o.markDown(why)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setErr = why
}

// KeyringError returns why the keyring did not store the last credential, which is in the file then; nil if it did.
func (s *Store) KeyringError() error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.cache.setErr
}

// Unreachable is the error for a stored credential that the keyring does not give out.
type Unreachable struct {
	Provider string
	Err      error
}

func (u *Unreachable) Error() string { return u.Description() + "; " + u.Remedy() }

// Description returns the error without a remedy.
func (u *Unreachable) Description() string {
	return fmt.Sprintf("the key of %s is stored in the keyring, which cannot be read: %v", u.Provider, u.Err)
}

// Remedy returns the remedy.
func (u *Unreachable) Remedy() string {
	if errors.Is(u.Err, keyring.ErrNotFound) {
		return "log in again: cairn auth login " + u.Provider
	}
	return "unlock the keyring, or log in again and store the key in a file: cairn auth login --file " + u.Provider
}

// Unwrap returns the error of the keyring.
func (u *Unreachable) Unwrap() error { return u.Err }

var errNoKeyring = errors.New("no keyring is available here")

// withSecrets returns an entry with the secrets that the keyring holds for it.
func (s *Store) withSecrets(ctx context.Context, provider string, e entry) (entry, error) {
	if e.KeyringName == "" {
		return e, nil
	}
	// Use what was read before; a keyring that is down is not asked again for a while.
	known, ok, err := s.cache.lookup(e.KeyringName)
	if ok {
		return known, nil
	}
	// Read the entry. If that fails for another reason than a missing entry, the keyring counts as down.
	var out entry
	if err == nil {
		if out, err = s.readKeyring(ctx, e.KeyringName); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			s.cache.markDown(err)
		}
	}
	if err != nil {
		return entry{}, &Unreachable{provider, err}
	}
	// Keep the entry. At the limit all are dropped; they can be read again.
	out.KeyringName = e.KeyringName
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.cache.entries == nil || len(s.cache.entries) >= maxCached {
		s.cache.entries = map[string]entry{}
	}
	s.cache.entries[e.KeyringName] = out
	return out, nil
}

// maxCached bounds the cache. A server renews tokens, which get new names, for as long as it runs.
const maxCached = 256

func (s *Store) readKeyring(ctx context.Context, name string) (out entry, err error) {
	if s.keyring == nil {
		return entry{}, errNoKeyring
	}
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	raw, err := s.keyring.Get(ctx, name)
	if err != nil {
		return entry{}, err
	}
	if out = parseEntry(jsontext.Value(raw)); out.invalid != "" {
		return entry{}, fmt.Errorf("its entry is invalid: %s", out.invalid)
	}
	return out, nil
}

// newKeyringName returns a name for an entry in the keyring that was never used before.
func newKeyringName(provider string) string {
	var nonce [6]byte
	_, _ = rand.Read(nonce[:]) // never returns an error
	return provider + "#" + hex.EncodeToString(nonce[:])
}

// sealEntry stores an entry in the keyring and returns the reference to it for the file.
func (s *Store) sealEntry(ctx context.Context, name string, e entry) (entry, error) {
	e.KeyringName = ""
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err == nil && s.keyring == nil {
		err = errNoKeyring
	}
	if err == nil {
		err = s.keyring.Set(ctx, name, string(raw))
	}
	if s.cache.recordSet(err); err != nil {
		return entry{}, err
	}
	reference := entry{Type: e.Type, KeyringName: name}
	if e.Type == KindWellKnown {
		reference.Key = e.Key // the name of a variable
	}
	return reference, nil
}
