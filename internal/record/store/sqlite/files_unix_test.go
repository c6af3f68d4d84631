//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFilesBelongToTheOwnerOnly(t *testing.T) {
	old := syscall.Umask(0)
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	fill(t, s, 1, 1)
	err := s.Backup(t.Context(), filepath.Join(dir, "copy.db"))
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		"": 0o700, dbName: 0o600, dbName + "-wal": 0o600, dbName + "-shm": 0o600, markerName: 0o600, "copy.db": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
