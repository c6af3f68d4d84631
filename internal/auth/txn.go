package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// book is a change of what is kept, under the lock of the file. The file decides: what is new in the keyring is put there
// before, and what is old is dropped after it, with a note of it meanwhile.
type book struct {
	*Store
	all     map[string]entry
	left    left
	changed bool // all
}

// get returns an opened entry.
func (b *book) get(ctx context.Context, provider string) (e entry, ok bool, err error) {
	if e, ok = b.all[provider]; ok {
		if err = b.wrong(provider, e); err == nil {
			e, err = b.open(ctx, provider, e)
		}
	}
	return e, ok, err
}

// keep puts an entry in place of what the provider had. What the keyring does not take stays in the file.
func (b *book) keep(ctx context.Context, provider string, e entry, at Place) error {
	e.Ring = ""
	if at == InKeyring {
		name := ringName(provider)
		b.left[name] = note{Perhaps: true}
		if err := b.writeLeft(b.left); err != nil {
			return err
		}
		if sealed, err := b.seal(ctx, name, e); err == nil {
			e = sealed
		}
	}
	b.set(provider, e)
	return nil
}

func (b *book) set(provider string, e entry) {
	b.remove(provider)
	b.all[provider], b.changed = e, true
}

func (b *book) remove(provider string) bool {
	e, had := b.all[provider]
	if e.Ring != "" {
		b.left[e.Ring] = note{}
	}
	delete(b.all, provider)
	b.changed = b.changed || had
	return had
}

// put keeps the outcome of a login where such things are wanted. The owner of the keyring may have to open it first, for
// which nobody else waits.
func (s *Store) put(ctx context.Context, provider string, e entry) error {
	if s.wanted() != InKeyring {
		return s.change(ctx, func(b *book) error { b.set(provider, e); return nil })
	}
	name := ringName(provider)
	err := s.change(ctx, func(b *book) error {
		b.left[name] = note{Perhaps: true, Until: time.Now().Add(putting).UnixMilli()}
		return nil
	})
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	sealed, sealing := s.seal(asking, name, e)
	if ctx.Err() != nil { // who does not want to wait does not want it elsewhere
		return context.Cause(ctx)
	}
	return s.change(ctx, func(b *book) error {
		_, noted := b.left[name] // if it is not, somebody took us for dead, and may have removed it
		if b.left[name] = (note{Perhaps: sealing != nil}); noted && sealing == nil {
			e = sealed
		}
		b.set(provider, e)
		return nil
	})
}

// changeWait is how long a change waits for others: one of them may be fetching a token from a vendor that is slow.
const changeWait = 90 * time.Second

// change makes a change under the lock of the file, and then removes from the keyring what is left there, if that can be
// done now. Else the notes stay, which is what they are for.
func (s *Store) change(ctx context.Context, f func(b *book) error) error {
	waiting, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	return statefile.Change(waiting, s.path, func() (err error) {
		b := &book{Store: s}
		if b.all, err = s.read(); err != nil {
			return err
		}
		if b.left, err = s.readLeft(); err != nil {
			return err
		}
		noted := maps.Clone(b.left)
		if err = f(b); err == nil && !maps.Equal(noted, b.left) {
			err = b.writeLeft(b.left)
		}
		if err == nil && b.changed {
			err = b.write()
		}
		if err != nil {
			if b.all, _ = s.read(); b.all == nil {
				return err
			}
		}
		_ = b.sweep(ctx)
		return err
	})
}

// write puts the file into the place of the one before.
func (b *book) write() error {
	raw, err := json.Marshal(rows(b.all), json.Deterministic(true), jsontext.WithIndent("  "), lenient)
	if err != nil {
		return fmt.Errorf("encode %s", b.path) // err may quote a secret
	}
	statefile.Clean(b.path) // keys are in it
	return statefile.Replace(b.path, append(raw, '\n'), 0o600)
}

// Move takes everything to a place and says how many credentials were elsewhere. When one cannot be taken there, all stay
// where they are.
func (s *Store) Move(ctx context.Context, to Place) (moved int, err error) {
	if to == InKeyring && s.ring == nil {
		return 0, errNoRing
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	err = s.change(ctx, func(b *book) error {
		for _, provider := range slices.Sorted(maps.Keys(b.all)) {
			if b.all[provider].place() == to || b.all[provider].wrong != "" {
				continue
			}
			e, _, err := b.get(ctx, provider)
			if err != nil {
				return err
			}
			if err := b.keep(ctx, provider, e, to); err != nil {
				return err
			}
			if b.all[provider].place() != to {
				return fmt.Errorf("the keyring does not take the key of %s: %w; all keys stay where they were", provider, s.Passed())
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
