package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	installerFile = "packaging/install.sh"
	signersFile   = "packaging/allowed_signers"
)

// readInstaller returns install.sh with the keys of packaging/allowed_signers; without that file it has none.
func readInstaller() ([]byte, error) {
	script, err := os.ReadFile(installerFile)
	if err != nil {
		return nil, err
	}
	keys, err := os.ReadFile(signersFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if script, err = addKeys(script, keys); err != nil {
		return nil, fmt.Errorf("%s: %w", installerFile, err)
	}
	return script, nil
}

// addKeys puts the keys into the line of the installer that is for them.
func addKeys(script, keys []byte) ([]byte, error) {
	keys = bytes.TrimSpace(keys)
	if bytes.ContainsRune(keys, '\'') {
		return nil, fmt.Errorf("a key has a quotation mark")
	}
	line := []byte("\nrelease_keys=''\n")
	if bytes.Count(script, line) != 1 {
		return nil, errors.New("it has no line release_keys=''")
	}
	return bytes.Replace(script, line, []byte("\nrelease_keys='"+string(keys)+"'\n"), 1), nil
}
