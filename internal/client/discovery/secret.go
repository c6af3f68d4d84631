package discovery

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/finding"
)

const secretFile = "server.secret"

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
	if err := EnsurePrivateDir(filepath.Dir(path)); err != nil {
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
