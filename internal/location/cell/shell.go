package cell

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// shellsDir returns the directory of copies of projects' shells. Commands in the sandbox can read it.
func shellsDir(d config.Directories) string { return filepath.Join(d.Data, "shells") }

// KeepShell returns the shell of a location. A program in the project is copied with the bytes that were trusted, and
// the copy runs, because a command can replace the project's file at any time. The copy keeps the base name, which
// tells what language the shell reads. If the trusted bytes cannot be read, the returned path does not exist.
func KeepShell(dirs config.Directories, cfg *config.Config, logger *slog.Logger) string {
	dir := shellsDir(dirs)
	program, own, err := cfg.ReadProjectShell()
	if !own {
		return cfg.Shell
	}
	sum := sha256.Sum256([]byte(cfg.Shell))
	path := filepath.Join(dir, hex.EncodeToString(sum[:8]), filepath.Base(cfg.Shell))
	if err == nil {
		err = keepProgram(path, program)
	}
	if err != nil {
		logger.Error("the project's shell is not used", "shell", cfg.Shell, "error", err)
		return filepath.Join(dir, "unverified", filepath.Base(cfg.Shell))
	}
	return path
}

// keepProgram writes a program, unless the file has the same content.
func keepProgram(path string, program []byte) error {
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, program) {
		return os.Chmod(path, 0o500) //nolint:gosec // a program
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), statefile.Replace(path, program, 0o500))
}
