package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func (b *Blobs) pinFile(owner string) string { return filepath.Join(b.dir, "pins", owner) }

// PinBlobs protects contents from removal until RemoveOwners of the owner, or until Collect needs their space. It returns
// when the pins are synced. The owner's name is that of a file.
func (b *Blobs) PinBlobs(owner string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.MkdirAll(filepath.Join(b.dir, "pins"), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(b.pinFile(owner), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// A crash can cut off a line: the pins after it begin a new one.
	_, err = f.WriteString("\n" + strings.Join(ids, "\n") + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// ListOwners returns the owners that pinned last before a time.
func (b *Blobs) ListOwners(before time.Time) (out []string, err error) {
	entries, err := os.ReadDir(filepath.Join(b.dir, "pins"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) { // else it was removed meanwhile
			out = append(out, e.Name())
		}
	}
	return out, err
}

// pinOwner is an owner with its pins.
type pinOwner struct {
	name string
	ids  []string
	time time.Time // when it pinned last
}

// readPins returns the owners, the one that pinned last at the end.
func (b *Blobs) readPins() (out []pinOwner, err error) {
	entries, err := os.ReadDir(filepath.Join(b.dir, "pins"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		raw, readErr := os.ReadFile(b.pinFile(e.Name()))
		if errors.Is(infoErr, fs.ErrNotExist) || errors.Is(readErr, fs.ErrNotExist) { // they were removed meanwhile
			continue
		}
		if infoErr != nil || readErr != nil {
			return nil, errors.Join(err, infoErr, readErr)
		}
		o := pinOwner{name: e.Name(), time: info.ModTime()}
		for line := range bytes.Lines(raw) {
			o.ids = append(o.ids, string(bytes.TrimSpace(line)))
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(x, y pinOwner) int { return x.time.Compare(y.time) })
	return out, err
}
