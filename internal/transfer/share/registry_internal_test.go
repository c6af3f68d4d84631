package share

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// A file of version 1 is read, with the members that have other names since.
func TestUpgradedFile(t *testing.T) {
	dir := t.TempDir()
	text := `{"version": 1, "shares": [{"id": "a", "sessionID": "ses_a", "url": "https://share/x", "created": 1, "withdrawn": 2,
		"absent": 3, "target": "https://share", "remote": "x", "secret": "s", "synced": 4, "cut": 5, "failure": "down",
		"failed": 6, "next": 7}]}`
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := NewRegistry(dir).List()
	if err != nil {
		t.Fatal(err)
	}
	want := []Share{{
		ID: "a", SessionID: "ses_a", URL: "https://share/x", Created: 1, RevokedAt: 2, NotFoundSince: 3, Target: "https://share",
		RemoteID: "x", Secret: "s", SyncedSeq: 4, CutAt: 5, Failure: "down", Attempts: 6, NextAttempt: 7,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// A file of a newer version is refused as such, whatever its members are, and stays as it is.
func TestNewerRegistryIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FileName)
	text := `{"version":3,"shares":[{"created":"2026-11-30"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := NewRegistry(dir)
	if _, err := r.List(); err == nil || !strings.Contains(err.Error(), "it has version 3") || len(r.Examine()) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := r.add(Share{ID: "x", SessionID: "ses_a"}, func() error { return nil }); err == nil {
		t.Error("a share was added")
	}
	if got, err := os.ReadFile(file); string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
}
