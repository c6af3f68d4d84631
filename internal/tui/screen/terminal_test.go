package screen

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"testing/synctest"
)

// stalledWriter is a terminal that takes nothing until it is closed.
type stalledWriter chan struct{}

func (w stalledWriter) Write(b []byte) (int, error) { <-w; return len(b), nil }

// TestStalledClose: the end of a program does not wait for a terminal that stopped to take output while nothing was
// drawn.
func TestStalledClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled := make(stalledWriter)
		defer close(stalled)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := New(stalled, nil, false)
		s.isOpen = true
		if err := s.RunProgram(ctx, func() error { return nil }); !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRunProgramCloses: the screen is closed when the program has ended, and the program's error is returned.
func TestRunProgramCloses(t *testing.T) {
	taken := make(stalledWriter)
	close(taken)
	s, broken := New(taken, nil, false), errors.New("broken")
	s.isOpen = true
	if err := s.RunProgram(t.Context(), func() error { return broken }); !errors.Is(err, broken) || s.isOpen {
		t.Errorf("%v, open: %v", err, s.isOpen)
	}
}

// TestCommandEndsFirst: the end of the context does not take the terminal from a command that has it.
func TestCommandEndsFirst(t *testing.T) {
	taken := make(stalledWriter)
	close(taken)
	s := New(taken, nil, false)
	ctx, cancel := context.WithCancel(t.Context())
	program := func() error {
		c := exec.Command("sh", "-c", "sleep 3")
		cancel()
		return Command{Cmd: c, Screen: s}.Run()
	}
	if err := s.RunProgram(ctx, program); err != nil {
		t.Errorf("got %v", err)
	}
}
