package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// leftName is the file beside that of the keys which names what is to be removed from the keyring. A name is there before
// its secret is put into the keyring, until the file of keys refers to it; and again before that does not any more, until
// the keyring has forgotten it. So whoever dies anywhere, and whatever cannot be reached, no secret is left that nobody
// knows of.
const leftName = "auth.left.json"

// note says of a name in the keyring that nothing refers to it.
type note struct {
	Perhaps bool  `json:"perhaps,omitzero"` // it may never have come there
	Until   int64 `json:"until,omitzero"`   // until when somebody may be putting it there, in milliseconds since 1970
}

// left are the notes by their names.
type left map[string]note

// maxLeft bounds the notes of what may never have come into the keyring.
const maxLeft = 256

func (s *Store) leftPath() string { return filepath.Join(filepath.Dir(s.path), leftName) }

func (s *Store) readLeft() (left, error) {
	raw, err := statefile.Read(s.leftPath(), maxFile)
	if raw == nil || err != nil {
		return left{}, err
	}
	notes := left{}
	if json.Unmarshal(raw, &notes) != nil {
		return nil, fmt.Errorf("%s is damaged, which names what is to be removed from the keyring; move it away, and look in the keyring for what belongs to cairn", s.leftPath())
	}
	if notes == nil {
		notes = left{}
	}
	return notes, nil
}

// write keeps the notes. Without any there is no file.
func (s *Store) writeLeft(notes left) error {
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		if len(notes) > maxLeft && notes[name].Perhaps && notes[name].Until < time.Now().UnixMilli() {
			delete(notes, name)
		}
	}
	if len(notes) == 0 {
		if err := os.Remove(s.leftPath()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	raw, err := json.Marshal(notes, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return statefile.Replace(s.leftPath(), append(raw, '\n'), 0o600)
}

// sweep removes from the keyring what is noted and nothing refers to, as far as it can be reached now. It asks nobody.
func (b *book) sweep(ctx context.Context) error {
	before := len(b.left)
	for _, e := range b.all {
		delete(b.left, e.Ring)
	}
	_, _, down := b.opened.known("")
	if down == nil && b.ring == nil && len(b.left) > 0 {
		down = errNoRing
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringWait) // the change is made
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(b.left)) {
		if down != nil {
			break
		}
		if b.left[name].Until > time.Now().UnixMilli() {
			continue
		}
		if down = b.ring.Delete(ctx, name, false); down == nil {
			delete(b.left, name)
		}
	}
	b.opened.leave(down)
	if len(b.left) == before {
		return nil
	}
	return b.writeLeft(b.left)
}

// Left tells what is still in the keyring although its key is removed: of a provider, or of all for "".
type Left struct {
	Names []string // in the keyring
	Due   bool     // there are some, or what may have come there, that a Sweep would look for
	Why   error    // they could not be removed when that was tried last
}

// Left lists what is still in the keyring of a provider.
func (s *Store) Left(provider string) (Left, error) {
	notes, err := s.readLeft()
	if err != nil {
		return Left{}, err
	}
	all, err := s.read()
	if err != nil {
		return Left{}, err
	}
	for _, e := range all {
		delete(notes, e.Ring)
	}
	out := Left{Why: s.opened.why()}
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		out.Due = out.Due || notes[name].Until < time.Now().UnixMilli()
		if !notes[name].Perhaps && ofProvider(name, provider) {
			out.Names = append(out.Names, name)
		}
	}
	return out, nil
}

// ofProvider reports whether a name in the keyring is that of a provider's key.
func ofProvider(name, provider string) bool {
	at := strings.LastIndex(name, "#")
	return provider == "" || at >= 0 && name[:at] == provider
}

// Sweep removes from the keyring what is left of a provider, or of all for "". With ask, somebody may be asked to open it.
func (s *Store) Sweep(ctx context.Context, provider string, ask bool) (Left, error) {
	err := s.change(ctx, func(*book) error { return nil })
	if err != nil {
		return Left{}, err
	}
	now, err := s.Left(provider)
	if err != nil || !ask || s.ring == nil || len(now.Names) == 0 || s.opened.isDown() {
		return now, err
	}
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	var gone []string
	for _, name := range now.Names { // outside of the lock: a person is asked
		if why := s.ring.Delete(asking, name, true); why != nil {
			s.opened.leave(why)
			break
		}
		gone = append(gone, name)
	}
	if err := s.unnote(ctx, gone); err != nil {
		return Left{}, err
	}
	return s.Left(provider)
}

// Forget gives up what is left of a provider in the keyring, and names it.
func (s *Store) Forget(ctx context.Context, provider string) ([]string, error) {
	now, err := s.Left(provider)
	if err != nil {
		return nil, err
	}
	return now.Names, s.unnote(ctx, now.Names)
}

// unnote removes notes.
func (s *Store) unnote(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return statefile.Change(ctx, s.path, func() error {
		notes, err := s.readLeft()
		if err != nil {
			return err
		}
		for _, name := range names {
			delete(notes, name)
		}
		return s.writeLeft(notes)
	})
}
