package wellknown

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Cache is the folder of what was fetched.
type Cache struct{ Dir string }

// In is the cache below the directory of all caches.
func In(dir string) Cache { return Cache{filepath.Join(dir, "wellknown")} }

// asked is the ending of the file whose time says when something was asked for.
const asked = ".asked"

// File is where the document of an address is kept.
func (c Cache) File(address string) string { return filepath.Join(c.Dir, name(address)+".json") }

// FileOf is where further configuration is kept. Another URL is another file.
func (c Cache) FileOf(e *Elsewhere) string {
	return filepath.Join(c.Dir, name(e.address)+"-"+name(e.URL)+".json")
}

func name(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:12])
}

// Elsewhere is what the kept document of the address names; nil when it names nothing, or there is no document.
func (c Cache) Elsewhere(address string) (*Elsewhere, error) {
	raw, err := statefile.Read(c.File(address), MaxDocument)
	if raw == nil || err != nil {
		return nil, err
	}
	d, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return d.Elsewhere(address)
}

// Keep keeps the document of an address.
func (c Cache) Keep(address string, raw []byte) error { return c.keep(c.File(address), raw) }

// keep writes what was fetched. The same content again leaves the file as it is, so that nobody reads it anew.
func (c Cache) keep(file string, raw []byte) error {
	if was, err := statefile.Read(file, MaxDocument); err == nil && was != nil && string(was) == string(raw) {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	return statefile.Replace(file, raw, 0o600)
}

// Forget removes the document of an address, and what was fetched for it from elsewhere.
func (c Cache) Forget(address string) error {
	files, err := filepath.Glob(filepath.Join(c.Dir, name(address)+"*")) // of hexadecimal digits: it has no other
	for _, file := range files {
		if gone := os.Remove(file); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Due reports whether what the file keeps was asked for longer ago than the age, or never.
func (c Cache) Due(file string, age time.Duration) bool {
	info, err := os.Stat(file + asked)
	return err != nil || time.Since(info.ModTime()) > age
}

// Refresh asks the address again and keeps what it says. Whatever it answers, it counts as asked.
func (c Cache) Refresh(ctx context.Context, address string, transport http.RoundTripper) error {
	raw, err := Fetch(ctx, address, transport)
	return c.refreshed(c.File(address), raw, err)
}

// RefreshElsewhere asks for further configuration again and keeps it. The token goes with the request, as the document
// says: decide first that it may.
func (c Cache) RefreshElsewhere(ctx context.Context, e *Elsewhere, token auth.Secret, transport http.RoundTripper) error {
	raw, err := e.fetch(ctx, token, transport)
	return c.refreshed(c.FileOf(e), raw, err)
}

func (c Cache) refreshed(file string, raw []byte, err error) error {
	if dir := os.MkdirAll(c.Dir, 0o700); dir != nil {
		return errors.Join(err, dir)
	}
	err = errors.Join(err, os.WriteFile(file+asked, nil, 0o600))
	if raw != nil {
		err = errors.Join(err, c.keep(file, raw))
	}
	return err
}
