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

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Cache is the folder of fetched documents.
type Cache struct{ Dir string }

// NewCache returns the cache below the directory of all caches.
func NewCache(dir string) Cache { return Cache{filepath.Join(dir, "wellknown")} }

// askedSuffix ends the name of the file whose modification time says when a document was fetched last, successfully or
// not.
const askedSuffix = ".asked"

// File returns the path of the document of an address.
func (c Cache) File(address string) string { return filepath.Join(c.Dir, fileName(address)+".json") }

// RemoteConfigFile returns the path of a further configuration. Another URL is another file.
func (c Cache) RemoteConfigFile(e *RemoteConfig) string {
	return filepath.Join(c.Dir, fileName(e.address)+"-"+fileName(e.URL)+".json")
}

func fileName(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:12])
}

// RemoteConfig returns what the cached document of an address names; nil if it names nothing or is missing.
func (c Cache) RemoteConfig(address string) (*RemoteConfig, error) {
	raw, err := statefile.Read(c.File(address), MaxDocument)
	if raw == nil || err != nil {
		return nil, err
	}
	d, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return d.RemoteConfig(address)
}

// Put stores the document of an address.
func (c Cache) Put(address string, raw []byte) error { return c.writeIfChanged(c.File(address), raw) }

// writeIfChanged writes a file unless it has the content already, so that its modification time says when it changed.
func (c Cache) writeIfChanged(file string, raw []byte) error {
	if old, err := statefile.Read(file, MaxDocument); err == nil && old != nil && string(old) == string(raw) {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	return statefile.Replace(file, raw, 0o600)
}

// Remove removes the document of an address and its further configuration.
func (c Cache) Remove(address string) error {
	files, err := filepath.Glob(filepath.Join(c.Dir, fileName(address)+"*")) // names are hexadecimal digits
	for _, file := range files {
		if removeErr := os.Remove(file); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// IsDue reports whether a file was fetched longer ago than age, or never.
func (c Cache) IsDue(file string, age time.Duration) bool {
	info, err := os.Stat(file + askedSuffix)
	return err != nil || time.Since(info.ModTime()) > age
}

// Refresh fetches the document of an address and stores it. A failed attempt counts for IsDue too.
func (c Cache) Refresh(ctx context.Context, address string, transport http.RoundTripper) error {
	raw, err := Fetch(ctx, address, transport)
	return c.recordRefresh(c.File(address), raw, err)
}

// RefreshRemoteConfig fetches a further configuration and stores it. It sends the token in the headers that the
// document names: the caller decides that it may.
func (c Cache) RefreshRemoteConfig(
	ctx context.Context, e *RemoteConfig, token auth.Secret, transport http.RoundTripper,
) error {
	raw, err := e.fetch(ctx, token, transport)
	return c.recordRefresh(c.RemoteConfigFile(e), raw, err)
}

func (c Cache) recordRefresh(file string, raw []byte, err error) error {
	if mkdirErr := os.MkdirAll(c.Dir, 0o700); mkdirErr != nil {
		return errors.Join(err, mkdirErr)
	}
	err = errors.Join(err, os.WriteFile(file+askedSuffix, nil, 0o600))
	if raw != nil {
		err = errors.Join(err, c.writeIfChanged(file, raw))
	}
	return err
}
