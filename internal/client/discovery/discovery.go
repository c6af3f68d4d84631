// Package discovery finds the server of a data directory and connects to it: the file in which it announces its
// addresses and the credential, and the socket of the process that owns the data.
package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FileName is the name of the file in the data directory by which cairn's own clients find a running server.
const FileName = "server.json"

// Server holds the addresses and the credential that a client needs to reach the server of a data directory. Only
// the owner can read the file.
type Server struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Socket  string `json:"socket,omitzero"`
	URL     string `json:"url,omitzero"`
	Secret  string `json:"secret"`
	Started int64  `json:"started"` // milliseconds
}

// Read reads the file. A missing file is fs.ErrNotExist. The server may have exited without removing the file.
func Read(dataDir string) (Server, error) {
	b, err := readPrivate(filepath.Join(dataDir, FileName))
	if err != nil {
		return Server{}, err
	}
	var d Server
	if err := json.Unmarshal(b, &d, jsontext.AllowDuplicateNames(true)); err != nil {
		return d, fmt.Errorf("%s is damaged: remove it and start the server again", filepath.Join(dataDir, FileName))
	}
	return d, nil
}

// Write writes the file atomically. The caller owns the data directory.
func Write(dataDir string, d Server) error {
	removePartialFiles(dataDir)
	b, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", FileName, err)
	}
	return writePrivate(filepath.Join(dataDir, FileName), b)
}

// removePartialFiles removes temporary files of processes that were killed while they wrote: they contain the
// secret.
func removePartialFiles(dataDir string) {
	for _, name := range []string{FileName, secretFile} {
		left, _ := filepath.Glob(filepath.Join(dataDir, name) + "." + strings.Repeat("[0-9a-f]", 8))
		for _, path := range left {
			_ = os.Remove(path) // the next owner tries again
		}
	}
}

// Remove removes the file if it is the one that this process wrote.
func Remove(dataDir string, pid int) error {
	d, err := Read(dataDir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && d.PID != pid) {
		return nil
	}
	if err := os.Remove(filepath.Join(dataDir, FileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", FileName, err)
	}
	return nil
}
