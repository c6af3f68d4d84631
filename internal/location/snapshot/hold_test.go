//go:build unix

package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// While git removes objects of captures, a command of another worktree goes on, and one of the same worktree waits.
func TestHoldWaitsForItsWorktree(t *testing.T) {
	home := t.TempDir()
	b := NewBlobs(filepath.Join(home, "snapshot"))
	one, two := filepath.Join(home, "one"), filepath.Join(home, "two")
	if err := os.MkdirAll(filepath.Join(one, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A git that waits between its start and its end.
	for _, name := range []string{"started", "go"} {
		if err := syscall.Mkfifo(filepath.Join(home, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	git, ended := filepath.Join(home, "git"), filepath.Join(home, "ended")
	script := fmt.Sprintf("#!/bin/sh\ncd %q && echo x > started && read line < go && echo x > ended\n", home)
	if err := os.WriteFile(git, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	pruned := make(chan error, 1)
	go func() {
		_, err := b.PruneCaptures(t.Context(), git, one)
		pruned <- err
	}()
	if _, err := os.ReadFile(filepath.Join(home, "started")); err != nil {
		t.Fatal(err)
	}
	// Git runs now. Another worktree and the contents are free.
	b.HoldCaptures(two)()
	b.Hold()()
	if err := b.PinBlobs("a", nil); err != nil {
		t.Error(err)
	}
	held := make(chan bool, 1)
	go func() {
		defer b.HoldCaptures(one)()
		_, err := os.Stat(ended)
		held <- err == nil
	}()
	if err := os.WriteFile(filepath.Join(home, "go"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-pruned; err != nil {
		t.Error(err)
	}
	if !<-held {
		t.Error("a command of the worktree did not wait for git")
	}
}
