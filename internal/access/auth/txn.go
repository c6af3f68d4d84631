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

// txn is an update of the stored credentials under the lock of the file. The file decides what exists: a new secret is
// stored in the keyring before the file refers to it, and an old one is deleted after the file does not. Meanwhile its
// name is in the list of orphans.
type txn struct {
	*Store
	all     map[string]entry
	orphans orphans
	changed bool // all differs from the file
}

// lookup returns an entry with its secrets.
func (b *txn) lookup(ctx context.Context, provider string) (e entry, ok bool, err error) {
	if e, ok = b.all[provider]; ok {
		if err = b.entryError(provider, e); err == nil {
			e, err = b.withSecrets(ctx, provider, e)
		}
	}
	return e, ok, err
}

// put replaces the entry of a provider. If the keyring cannot store the secrets, they go into the file.
func (b *txn) put(ctx context.Context, provider string, e entry, at Place) error {
	e.KeyringName = ""
	if at == InKeyring {
		name := newKeyringName(provider)
		b.orphans[name] = orphan{Perhaps: true}
		if err := b.writeOrphans(b.orphans); err != nil {
			return err
		}
		if sealed, err := b.sealEntry(ctx, name, e); err == nil {
			e = sealed
		}
	}
	b.setEntry(provider, e)
	return nil
}

func (b *txn) setEntry(provider string, e entry) {
	b.removeEntry(provider)
	b.all[provider], b.changed = e, true
}

func (b *txn) removeEntry(provider string) bool {
	e, had := b.all[provider]
	if e.KeyringName != "" {
		b.orphans[e.KeyringName] = orphan{}
	}
	delete(b.all, provider)
	b.changed = b.changed || had
	return had
}

// storeEntry stores the outcome of a login at the preferred place. The keyring may prompt the user, for at most
// promptTimeout; other updates wait meanwhile, readers do not.
func (s *Store) storeEntry(ctx context.Context, provider string, e entry) error {
	return s.update(ctx, func(b *txn) error {
		asking, cancel := context.WithTimeout(ctx, promptTimeout)
		defer cancel()
		if err := b.put(asking, provider, e, s.preferredPlace()); err != nil {
			return err
		}
		if ctx.Err() != nil { // a caller that gives up does not want it in the file either
			return context.Cause(ctx)
		}
		return nil
	})
}

// updateTimeout bounds how long an update waits for others. One of them may be fetching a token from a slow vendor.
const updateTimeout = 90 * time.Second

// update runs f under the lock of the file and writes what it changed. Then it deletes orphans from the keyring, as
// far as that is possible now.
func (s *Store) update(ctx context.Context, f func(b *txn) error) error {
	waiting, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	return statefile.WithLock(waiting, s.path, func() (err error) {
		// Read both files under the lock, and run the change on them.
		b := &txn{Store: s}
		if b.all, err = s.readFile(); err != nil {
			return err
		}
		if b.orphans, err = s.readOrphans(); err != nil {
			return err
		}
		// The list of orphans is written first: a crash after it leaves an entry that is listed, never one that is
		// lost.
		before := maps.Clone(b.orphans)
		if err = f(b); err == nil && !maps.Equal(before, b.orphans) {
			err = b.writeOrphans(b.orphans)
		}
		if err == nil && b.changed {
			err = b.writeFile()
		}
		// The change failed: clean up by what the file says, not by what f did to its copy.
		if err != nil {
			if b.all, _ = s.readFile(); b.all == nil {
				return err
			}
		}
		_ = b.cleanUp(ctx)
		return err
	})
}

// writeFile replaces the file.
func (b *txn) writeFile() error {
	raw, err := json.Marshal(fileEntries(b.all), json.Deterministic(true), jsontext.WithIndent("  "), lenient)
	if err != nil {
		return fmt.Errorf("encode %s", b.path) // err may quote a secret
	}
	statefile.Clean(b.path) // copies that a crash left contain keys
	return statefile.Replace(b.path, append(raw, '\n'), 0o600)
}

// Move moves all credentials to a place and returns how many were elsewhere. If one cannot be moved, none is.
// It does so in one update of the file, so that an error leaves every entry where it was.
func (s *Store) Move(ctx context.Context, to Place) (moved int, err error) {
	if to == InKeyring && s.keyring == nil {
		return 0, errNoKeyring
	}
	// The keyring may ask the user to unlock it, so wait as long as for a prompt.
	ctx, cancel := context.WithTimeout(ctx, promptTimeout)
	defer cancel()
	err = s.update(ctx, func(b *txn) error {
		// Leave out what is there already, and invalid entries, whose secret cannot be read.
		for _, provider := range slices.Sorted(maps.Keys(b.all)) {
			if b.all[provider].placeOf() == to || b.all[provider].invalid != "" {
				continue
			}
			e, _, err := b.lookup(ctx, provider)
			if err != nil {
				return err
			}
			// put falls back to the file if the keyring refuses. That is right for a login, but here it is a
			// failure.
			if err := b.put(ctx, provider, e, to); err != nil {
				return err
			}
			if b.all[provider].placeOf() != to {
				return fmt.Errorf("the key of %s cannot be stored in the keyring: %w; no key was moved",
					provider, s.KeyringError())
			}
			moved++
		}
		return nil
	})
	// The update was rolled back, so none was moved.
	if err != nil {
		moved = 0
	}
	return moved, err
}

// DescribePlace says where the credential of a provider is stored, for messages.
func (s *Store) DescribePlace(provider string) string {
	all, err := s.readFile()
	if err != nil {
		return s.path
	}
	return s.describeEntryPlace(all[provider])
}
