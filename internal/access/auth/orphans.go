package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// orphansName is the write-ahead list of secrets in the keyring that auth.json does not refer to. A name is added
// before its secret is stored, until auth.json refers to it, and again before that reference is removed, until the
// keyring has deleted the secret. So a crash leaves no secret that nothing refers to.
const orphansName = "auth.left.json"

// orphan is a secret in the keyring without a reference.
type orphan struct {
	Perhaps bool `json:"perhaps,omitzero"` // the secret may never have been stored
}

// orphans are secrets by their names in the keyring.
type orphans map[string]orphan

// maxOrphans bounds the names of secrets that may never have been stored.
const maxOrphans = 256

func (s *Store) readOrphans() (orphans, error) {
	raw, err := statefile.Read(s.orphans, maxFile)
	if raw == nil || err != nil {
		return orphans{}, err
	}
	list := orphans{}
	if json.Unmarshal(raw, &list) != nil {
		return nil, fmt.Errorf("%s, which lists secrets to delete from the keyring, is damaged; "+
			"move it away and look in the keyring for entries of cairn", s.orphans)
	}
	if list == nil {
		list = orphans{}
	}
	return list, nil
}

// writeOrphans replaces the list. Without names there is no file.
func (s *Store) writeOrphans(list orphans) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if len(list) > maxOrphans && list[name].Perhaps {
			delete(list, name)
		}
	}
	if len(list) == 0 {
		if err := os.Remove(s.orphans); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	raw, err := json.Marshal(list, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return statefile.Replace(s.orphans, append(raw, '\n'), 0o600)
}

// cleanUp deletes orphans from the keyring, without a prompt.
func (b *txn) cleanUp(ctx context.Context) error {
	before := len(b.orphans)
	for _, e := range b.all {
		delete(b.orphans, e.KeyringName)
	}
	_, _, down := b.cache.lookup("")
	if down == nil && b.keyring == nil && len(b.orphans) > 0 {
		down = errNoKeyring
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyringTimeout) // the update is done
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(b.orphans)) {
		if down != nil {
			break
		}
		if down = b.keyring.Delete(ctx, name, false); down == nil {
			delete(b.orphans, name)
		}
	}
	b.cache.recordCleanUp(down)
	if len(b.orphans) == before {
		return nil
	}
	return b.writeOrphans(b.orphans)
}

// Orphans are the secrets of one provider, or of all for "", that are still in the keyring although their credential
// was removed or replaced.
type Orphans struct {
	Names []string // of secrets in the keyring
	Due   bool     // CleanUp would try to delete some
	Why   error    // why the last attempt to delete them failed
}

// ListOrphans returns the orphans of a provider, or all for "".
func (s *Store) ListOrphans(provider string) (Orphans, error) {
	list, err := s.readOrphans()
	if err != nil {
		return Orphans{}, err
	}
	all, err := s.readFile()
	if err != nil {
		return Orphans{}, err
	}
	for _, e := range all {
		delete(list, e.KeyringName)
	}
	out := Orphans{Due: len(list) > 0, Why: s.cache.lastCleanUpError()}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !list[name].Perhaps && isNameOf(name, provider) {
			out.Names = append(out.Names, name)
		}
	}
	return out, nil
}

// isNameOf reports whether a name in the keyring is that of a provider.
func isNameOf(name, provider string) bool {
	at := strings.LastIndex(name, "#")
	return provider == "" || at >= 0 && name[:at] == provider
}

// CleanUp deletes the orphans of a provider from the keyring, or all for "", and returns what is left. With prompt,
// the user may be asked to unlock it.
func (s *Store) CleanUp(ctx context.Context, provider string, prompt bool) (Orphans, error) {
	err := s.update(ctx, func(b *txn) error {
		if prompt && s.keyring != nil && !s.cache.isDown() {
			b.deletePrompting(ctx, provider)
		}
		return nil
	})
	if err != nil {
		return Orphans{}, err
	}
	return s.ListOrphans(provider)
}

// deletePrompting deletes the orphans of a provider, or all for "", until the keyring refuses one.
func (b *txn) deletePrompting(ctx context.Context, provider string) {
	asking, cancel := context.WithTimeout(ctx, promptTimeout)
	defer cancel()
	for _, e := range b.all {
		delete(b.orphans, e.KeyringName)
	}
	for _, name := range slices.Sorted(maps.Keys(b.orphans)) {
		if b.orphans[name].Perhaps || !isNameOf(name, provider) {
			continue
		}
		if why := b.keyring.Delete(asking, name, true); why != nil {
			b.cache.recordCleanUp(why)
			return
		}
		delete(b.orphans, name)
	}
}

// ForgetOrphans removes the orphans of a provider from the list, leaves them in the keyring, and returns their names.
func (s *Store) ForgetOrphans(ctx context.Context, provider string) ([]string, error) {
	left, err := s.ListOrphans(provider)
	if err != nil {
		return nil, err
	}
	return left.Names, s.update(ctx, func(b *txn) error {
		maps.DeleteFunc(b.orphans, func(name string, _ orphan) bool { return slices.Contains(left.Names, name) })
		return nil
	})
}
