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

	"github.com/cairn-dev/cairn/internal/keyring"
)

// Place is where credentials are kept.
type Place string

// The places.
const (
	InKeyring Place = "keyring"
	InFile    Place = "file"
)

// How long the keyring may take: by itself, and where its owner may have to open it first.
const (
	ringWait = 2 * time.Second
	askWait  = 30 * time.Second
	putting  = 2 * time.Minute  // after it, whoever was putting something there has done so, or is dead
	downWait = 10 * time.Second // before a keyring that gave nothing is asked again
)

// wanted is where a new credential goes.
func (s *Store) wanted() Place {
	off := s.getenv("CAIRN_DISABLE_KEYRING")
	if s.ring == nil || off == "1" || strings.EqualFold(off, "true") {
		return InFile
	}
	return InKeyring
}

// place is where an entry is, and placeOf says it to people.
func (e entry) place() Place {
	if e.Ring != "" {
		return InKeyring
	}
	return InFile
}

func (s *Store) placeOf(e entry) string {
	if e.place() == InKeyring {
		return "the keyring"
	}
	return s.path
}

// opened are entries that the keyring gave out, by their names there. A name never gets another content.
type opened struct {
	mu     sync.Mutex // guards what follows
	all    map[string]entry
	down   error // why nothing can be had, until then: nobody waits for a keyring again and again
	till   time.Time
	leaves error // why it still has what it should not, when that was tried last
	passed error // why it did not take what was kept last
}

// known is what is remembered of a name, or of the keyring.
func (o *opened) known(name string) (e entry, ok bool, down error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().Before(o.till) {
		down = o.down
	}
	e, ok = o.all[name]
	return e, ok, down
}

// failed remembers that the keyring gives nothing.
func (o *opened) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down, o.till = err, time.Now().Add(downWait)
}

// isDown reports whether it gives nothing at present.
func (o *opened) isDown() bool {
	_, _, down := o.known("")
	return down != nil
}

// leave remembers why something cannot be removed; nil if all is. That it is locked keeps nobody from reading.
func (o *opened) leave(why error) {
	if why != nil && !errors.Is(why, keyring.ErrLocked) && !o.isDown() {
		o.failed(why)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaves = why
}

func (o *opened) why() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leaves
}

// pass remembers whether something was taken.
func (o *opened) pass(why error) {
	if why != nil && !errors.Is(why, keyring.ErrLocked) {
		o.failed(why)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passed = why
}

// Passed says why the keyring was passed over when a credential was kept last; nil if it was not.
func (s *Store) Passed() error {
	s.opened.mu.Lock()
	defer s.opened.mu.Unlock()
	return s.opened.passed
}

// Unreachable is why a stored key cannot be used now: it lies in the keyring, which does not give it out.
type Unreachable struct {
	Provider string
	Err      error
}

func (u *Unreachable) Error() string { return u.What() + "; " + u.Fix() }

// What says it without what to do.
func (u *Unreachable) What() string {
	return fmt.Sprintf("the key of %s lies in the keyring, and cannot be read: %v", u.Provider, u.Err)
}

// Fix says what a person can do.
func (u *Unreachable) Fix() string {
	if errors.Is(u.Err, keyring.ErrNotFound) {
		return "log in again: cairn auth login " + u.Provider
	}
	return "open the keyring, or log in again and keep the key in a file: cairn auth login --file " + u.Provider
}

// Unwrap returns what the keyring said.
func (u *Unreachable) Unwrap() error { return u.Err }

var errNoRing = errors.New("no keyring can be reached from here")

// open returns an entry with what the keyring holds of it.
func (s *Store) open(ctx context.Context, provider string, e entry) (entry, error) {
	if e.Ring == "" {
		return e, nil
	}
	known, ok, err := s.opened.known(e.Ring)
	if ok {
		return known, nil
	}
	var out entry
	if err == nil {
		if out, err = s.fetch(ctx, e.Ring); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			s.opened.failed(err)
		}
	}
	if err != nil {
		return entry{}, &Unreachable{provider, err}
	}
	out.Ring = e.Ring
	s.opened.mu.Lock()
	defer s.opened.mu.Unlock()
	if s.opened.all == nil || len(s.opened.all) >= maxOpened {
		s.opened.all = map[string]entry{}
	}
	s.opened.all[e.Ring] = out
	return out, nil
}

// maxOpened bounds what is remembered: tokens are renewed for as long as a server runs.
const maxOpened = 256

func (s *Store) fetch(ctx context.Context, name string) (out entry, err error) {
	if s.ring == nil {
		return entry{}, errNoRing
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	raw, err := s.ring.Get(ctx, name)
	if err != nil {
		return entry{}, err
	}
	if out = entryOf(jsontext.Value(raw)); out.wrong != "" {
		return entry{}, fmt.Errorf("what it has is no credential: %s", out.wrong)
	}
	return out, nil
}

// ringName makes a name for an entry in the keyring. None is used again.
func ringName(provider string) string {
	var nonce [6]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return provider + "#" + hex.EncodeToString(nonce[:])
}

// seal puts an entry into the keyring and returns what stands for it in the file.
func (s *Store) seal(ctx context.Context, name string, e entry) (entry, error) {
	e.Ring = ""
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err == nil && s.ring == nil {
		err = errNoRing
	}
	if err == nil {
		err = s.ring.Set(ctx, name, string(raw))
	}
	if s.opened.pass(err); err != nil {
		return entry{}, err
	}
	kept := entry{Type: e.Type, Ring: name}
	if e.Type == KindWellKnown {
		kept.Key = e.Key // the name of a variable
	}
	return kept, nil
}
