package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// ListOutputs returns the names of the session's files, sorted.
func (o *Outputs) ListOutputs(id session.ID) []string {
	names := o.List(id)
	for i, path := range names {
		names[i] = filepath.Base(path)
	}
	slices.Sort(names)
	return names
}

// OpenOutput opens a managed file for reading and returns its size. Any other file is fs.ErrNotExist.
func (o *Outputs) OpenOutput(name string) (io.ReadCloser, int64, error) {
	path := filepath.Join(o.Dir, name)
	info, err := os.Lstat(path)
	if err == nil && (filepath.Base(name) != name || !isManagedFile(info)) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	return f, info.Size(), nil
}

// CreateOutput creates a managed file of the session with the name that it had in another store. What an interrupted
// attempt left under the name is replaced.
func (o *Outputs) CreateOutput(id session.ID, name string) (io.WriteCloser, error) {
	if filepath.Base(name) != name || fileSuffix(id) == "" || fileOwner(name) != id {
		return nil, fmt.Errorf("%q is not the name of a tool output of session %s", name, id)
	}
	if err := o.RemoveOutput(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for tool output: %w", err)
	}
	return os.OpenFile(filepath.Join(o.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// RemoveOutput removes a managed file. Without it, it does nothing.
func (o *Outputs) RemoveOutput(name string) error {
	info, err := os.Lstat(filepath.Join(o.Dir, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isManagedFile(info) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.removeFile(info)
}
