package share

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file with secrets that a killed process left is removed.
func TestLeftFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{FileName, progressName} {
		left := filepath.Join(dir, "."+name+"-123")
		if err := os.WriteFile(left, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := NewRegistry(dir).List(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s is still there", left)
		}
	}
}

// Readers of pages do not wait while the registry is written.
func TestReadsDoNotWaitForWrites(t *testing.T) {
	r := NewRegistry(t.TempDir())
	if _, err := r.add(Share{ID: "x", SessionID: "ses_a"}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock() // as a change does while it writes
	defer r.mu.Unlock()
	if s, found, err := r.Find("x"); err != nil || !found || s.SessionID != "ses_a" {
		t.Error(s, found, err)
	}
	if _, found, err := r.FindSession("ses_a"); err != nil || !found {
		t.Error(found, err)
	}
	if all, err := r.List(); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}
