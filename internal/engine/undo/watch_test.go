package undo

import (
	"context"
	"errors"
	"testing"
)

// A capture waits for the one before it of the same worktree, and no longer than its context.
func TestLockCaptures(t *testing.T) {
	t.Parallel()
	s := &watches{}
	unlock, err := s.lockCaptures(t.Context(), "/a")
	if err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if _, err := s.lockCaptures(ctx, "/a"); !errors.Is(err, interrupted) {
		t.Errorf("wait for another capture: %v, want the cause of the end of the context", err)
	}
	if other, err := s.lockCaptures(t.Context(), "/b"); err != nil {
		t.Errorf("another worktree: %v", err)
	} else {
		other()
	}
	unlock()
	if again, err := s.lockCaptures(t.Context(), "/a"); err != nil {
		t.Errorf("after the capture: %v", err)
	} else {
		again()
	}
}
