// Package sessionfiles holds in memory what sessions have outside of the log, for tests of exports and imports. It
// implements archive.Files.
package sessionfiles

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's names of contents
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cairn-dev/cairn/internal/session"
)

// Memory is the files of a store. Its fields may be read and changed while no export or import runs.
type Memory struct {
	Contents map[string][]byte
	Outputs  map[string][]byte
	Pins     map[string][]string
	Spool    string // a directory of the test
	Full     bool   // nothing can be created
	OnPin    func() // runs before contents are pinned; may be nil

	mu sync.Mutex // guards the maps
}

// New returns files with uploads in the directory.
func New(spool string) *Memory {
	return &Memory{
		Contents: map[string][]byte{}, Outputs: map[string][]byte{}, Pins: map[string][]string{}, Spool: spool,
	}
}

// ReadContent implements archive.Files.
func (m *Memory) ReadContent(id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, ok := m.Contents[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

// PutContent implements archive.Files.
func (m *Memory) PutContent(content []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Full {
		return "", syscall.ENOSPC
	}
	h := sha1.New() //nolint:gosec // git's names of contents
	_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(content), content)
	id := hex.EncodeToString(h.Sum(nil))
	m.Contents[id] = bytes.Clone(content)
	return id, nil
}

// Hold implements archive.Files.
func (m *Memory) Hold() (release func()) { return func() {} }

// PinBlobs implements archive.Files.
func (m *Memory) PinBlobs(owner string, ids []string) error {
	if m.OnPin != nil {
		m.OnPin()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Pins[owner] = append(m.Pins[owner], ids...)
	return nil
}

// ListOutputs implements archive.Files.
func (m *Memory) ListOutputs(id session.ID) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.Outputs {
		if strings.HasSuffix(name, "-"+string(id)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// OpenOutput implements archive.Files.
func (m *Memory) OpenOutput(name string) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.Outputs[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// CreateOutput implements archive.Files.
func (m *Memory) CreateOutput(_ session.ID, name string) (io.WriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Full {
		return nil, syscall.ENOSPC
	}
	m.Outputs[name] = nil
	return &output{files: m, name: name}, nil
}

// RemoveOutput implements archive.Files.
func (m *Memory) RemoveOutput(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.Outputs, name)
	return nil
}

// SpoolDir implements archive.Files.
func (m *Memory) SpoolDir() string { return m.Spool }

// output is a file that is being written.
type output struct {
	files *Memory
	name  string
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.files.mu.Lock()
	defer o.files.mu.Unlock()
	o.files.Outputs[o.name] = append(o.files.Outputs[o.name], p...)
	return len(p), nil
}

// Close implements io.Closer.
func (o *output) Close() error { return nil }
