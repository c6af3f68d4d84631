package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/finding"
)

// DiscoveryFile is the name of the file in the data directory by which cairn's own clients find a running server.
const DiscoveryFile = "server.json"

const secretFile = "server.secret"

// Discovery holds the addresses and the credential that a client needs to reach the server of a data directory. Only
// the owner can read the file.
type Discovery struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Socket  string `json:"socket,omitzero"`
	URL     string `json:"url,omitzero"`
	Secret  string `json:"secret"`
	Started int64  `json:"started"` // milliseconds
}

// Discover reads the file. A missing file is fs.ErrNotExist. The server may have exited without removing the file.
func Discover(dataDir string) (Discovery, error) {
	b, err := readPrivate(filepath.Join(dataDir, DiscoveryFile))
	if err != nil {
		return Discovery{}, err
	}
	var d Discovery
	if err := json.Unmarshal(b, &d, jsontext.AllowDuplicateNames(true)); err != nil {
		return d, fmt.Errorf("%s is damaged: remove it and start the server again", filepath.Join(dataDir, DiscoveryFile))
	}
	return d, nil
}

// WriteDiscovery writes the file atomically. The caller owns the data directory.
func WriteDiscovery(dataDir string, d Discovery) error {
	removePartialFiles(dataDir)
	b, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", DiscoveryFile, err)
	}
	return writePrivate(filepath.Join(dataDir, DiscoveryFile), b)
}

// removePartialFiles removes temporary files of processes that were killed while they wrote: they contain the
// secret.
func removePartialFiles(dataDir string) {
	for _, name := range []string{DiscoveryFile, secretFile} {
		left, _ := filepath.Glob(filepath.Join(dataDir, name) + "." + strings.Repeat("[0-9a-f]", 8))
		for _, path := range left {
			_ = os.Remove(path) // the next owner tries again
		}
	}
}

// RemoveDiscovery removes the file if it is the one that this process wrote.
func RemoveDiscovery(dataDir string, pid int) error {
	d, err := Discover(dataDir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && d.PID != pid) {
		return nil
	}
	if err := os.Remove(filepath.Join(dataDir, DiscoveryFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", DiscoveryFile, err)
	}
	return nil
}

// LoadSecret returns the secret of the installation: 256 random bits as hex. The first call creates it; of several
// processes that do so at the same time, one wins.
func LoadSecret(dataDir string) (string, error) {
	path := filepath.Join(dataDir, secretFile)
	for range 3 {
		secret, err := readSecret(path)
		if err == nil {
			return secret, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := createSecret(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s appears and disappears", path)
}

// ExamineSecret reports a secret that LoadSecret cannot read, without which no owner starts. It changes nothing.
func ExamineSecret(dataDir string) []finding.Finding {
	path := filepath.Join(dataDir, secretFile)
	_, err := readSecret(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return []finding.Finding{{
		Level: finding.Error, What: "secret", Detail: err.Error(),
		Fix: "remove " + path + "; the next start makes another, " +
			"and clients that use the old one must log in again",
	}}
}

func readSecret(path string) (string, error) {
	b, err := readPrivate(path)
	if err != nil {
		return "", err
	}
	s := strings.TrimSpace(string(b))
	if len(s) < 64 {
		return "", fmt.Errorf("%s is damaged: remove it and start the server again", path)
	}
	return s, nil
}

// createSecret creates the file of the secret atomically. It is an error if the file exists.
func createSecret(path string) error {
	if err := ensurePrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	temp := path + "." + hex.EncodeToString(b[:4])
	if err := writeNew(temp, []byte(hex.EncodeToString(b[:])+"\n")); err != nil {
		return err
	}
	err := os.Link(temp, path)
	return errors.Join(err, os.Remove(temp))
}

// maxPrivate bounds the size of the private files.
const maxPrivate = 64 << 10

// readPrivate reads a file that only the user can read and write. It follows no symbolic link.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !isOwnedByUser(info) || isExposed(info) {
		return nil, fmt.Errorf("%s must be a file of yours with mode 0600", path)
	}
	return io.ReadAll(io.LimitReader(f, maxPrivate))
}

// writePrivate replaces the file atomically.
func writePrivate(path string, b []byte) error {
	if err := ensurePrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	var r [4]byte
	_, _ = rand.Read(r[:]) // never fails
	temp := path + "." + hex.EncodeToString(r[:])
	if err := writeNew(temp, b); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
