package project

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// cacheFile returns the path of the stored identity of a repository.
func (f *Finder) cacheFile(common string) string {
	sum := sha256.Sum256([]byte(common))
	return filepath.Join(f.Cache, "project", hex.EncodeToString(sum[:16]))
}

// load returns the stored identity; "" if it is missing or invalid.
func (f *Finder) load(common string) session.ProjectID {
	if f.Cache == "" {
		return ""
	}
	line, ok := checkout.FirstLine(f.cacheFile(common))
	if !ok || !hash.MatchString(line) {
		return ""
	}
	return session.ProjectID(line)
}

// store saves the identity. It is a cache: a failed write is repeated by the next lookup.
func (f *Finder) store(common string, id session.ProjectID) {
	if f.Cache == "" {
		return
	}
	path := f.cacheFile(common)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return
	}
	_, errWrite := tmp.WriteString(string(id) + "\n")
	if tmp.Close() != nil || errWrite != nil || os.Rename(tmp.Name(), path) != nil {
		_ = os.Remove(tmp.Name())
	}
}
