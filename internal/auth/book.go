package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/keyring"
	"github.com/cairn-dev/cairn/internal/statefile"
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
	mu   sync.Mutex // guards what follows
	all  map[string]entry
	down error // why nothing can be had, until then: nobody waits for a keyring again and again
	till time.Time
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
		if out, err = s.fetch(ctx, e.Ring); err != nil && !errors.Is(err, keyring.ErrNone) {
			s.opened.failed(err)
		}
	}
	if err != nil {
		return entry{}, fmt.Errorf("the key of %s is in the keyring: %w; open the keyring, or keep the key in a file: cairn auth login --file %[1]s", provider, err)
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
		return entry{}, fmt.Errorf("none can be reached from here")
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	raw, err := s.ring.Get(ctx, name)
	if err != nil {
		return entry{}, err
	}
	if json.Unmarshal([]byte(raw), &out) != nil { // its error may quote the secret
		return entry{}, fmt.Errorf("what it has is no credential")
	}
	return out, nil
}

// book is a change of what is kept. The file decides: what is new in the keyring is put there before, and what is old is
// dropped after it. Whoever dies between leaves an item that nothing refers to, and never a key that is nowhere.
type book struct {
	*Store
	all     map[string]entry
	changed bool
	added   []string // names in the keyring
	old     []string
}

// get returns an opened entry.
func (b *book) get(ctx context.Context, provider string) (e entry, ok bool, err error) {
	if e, ok = b.all[provider]; ok {
		e, err = b.open(ctx, provider, e)
	}
	return e, ok, err
}

// keep puts an entry in place of what the provider had. What the keyring does not take stays in the file.
func (b *book) keep(ctx context.Context, provider string, e entry, at Place) {
	e.Ring = ""
	if at == InKeyring {
		var name string
		e, name = b.seal(ctx, provider, e)
		b.added = append(b.added, name)
	}
	b.set(provider, e)
}

func (b *book) set(provider string, e entry) {
	b.remove(provider)
	b.all[provider], b.changed = e, true
}

// put keeps the outcome of a login where such things are wanted. The owner of the keyring may have to open it first, for
// which nobody else waits.
func (s *Store) put(ctx context.Context, provider string, e entry) error {
	var added []string
	if s.wanted() == InKeyring {
		asking, cancel := context.WithTimeout(ctx, askWait)
		defer cancel()
		var name string
		e, name = s.seal(asking, provider, e)
		added = []string{name}
	}
	return s.change(ctx, func(b *book) error {
		b.added = added
		b.set(provider, e)
		return nil
	})
}

// seal puts an entry into the keyring, under a name of its own, and returns what stands for it in the file: the entry
// itself if the keyring does not take it.
func (s *Store) seal(ctx context.Context, provider string, e entry) (kept entry, name string) {
	var nonce [6]byte
	_, _ = rand.Read(nonce[:]) // never fails
	name = provider + "#" + hex.EncodeToString(nonce[:])
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err != nil || s.ring == nil || s.ring.Put(ctx, name, string(raw)) != nil {
		return e, name
	}
	kept = entry{Type: e.Type, Ring: name}
	if e.Type == KindWellKnown {
		kept.Key = e.Key // the name of a variable
	}
	return kept, name
}

func (b *book) remove(provider string) bool {
	e, had := b.all[provider]
	if e.Ring != "" {
		b.old = append(b.old, e.Ring)
	}
	delete(b.all, provider)
	b.changed = b.changed || had
	return had
}

// change makes a change under the lock of the file.
func (s *Store) change(ctx context.Context, f func(b *book) error) error {
	b := &book{Store: s}
	err := statefile.Change(ctx, s.path, func() (err error) {
		if b.all, err = s.read(); err != nil {
			return err
		}
		if err := f(b); err != nil || !b.changed {
			return err
		}
		raw, err := json.Marshal(b.all, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return fmt.Errorf("encode %s", s.path)
		}
		return statefile.Replace(s.path, append(raw, '\n'), 0o600)
	})
	if err != nil {
		b.old = b.added // nothing refers to them
	} else {
		b.old = append(b.old, b.unused()...)
	}
	b.drop(ctx)
	return err
}

// unused are the names that were tried and not used.
func (b *book) unused() []string {
	used := map[string]bool{}
	for _, e := range b.all {
		used[e.Ring] = true
	}
	return slices.DeleteFunc(slices.Clone(b.added), func(name string) bool { return used[name] })
}

// drop forgets what is old. What cannot be forgotten now is of no use to anybody.
func (b *book) drop(ctx context.Context) {
	if b.ring == nil || len(b.old) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringWait) // the change is made
	defer cancel()
	for _, name := range b.old {
		if b.ring.Drop(ctx, name, false) != nil {
			return
		}
	}
}

// Move takes everything to a place and says how many credentials were elsewhere. When one cannot be taken there, all stay
// where they are.
func (s *Store) Move(ctx context.Context, to Place) (moved int, err error) {
	if to == InKeyring && s.ring == nil {
		return 0, fmt.Errorf("there is no keyring that can be reached from here")
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	err = s.change(ctx, func(b *book) error {
		for _, provider := range slices.Sorted(maps.Keys(b.all)) {
			if b.all[provider].place() == to {
				continue
			}
			e, _, err := b.get(ctx, provider)
			if err != nil {
				return err
			}
			if b.keep(ctx, provider, e, to); b.all[provider].place() != to {
				return fmt.Errorf("the keyring does not take the key of %s; all keys stay where they were", provider)
			}
			moved++
		}
		return nil
	})
	if err != nil {
		moved = 0
	}
	return moved, err
}

// Where says to people where the credential of a provider is kept.
func (s *Store) Where(provider string) string {
	all, err := s.read()
	if err != nil {
		return s.path
	}
	return s.placeOf(all[provider])
}
