package turnlog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

var (
	// ErrInterrupted stops the work of a session because a user asked for it. Nothing continues by itself afterwards.
	ErrInterrupted = errors.New("interrupted")
	// ErrDeleted is ErrInterrupted, because a user deletes the session.
	ErrDeleted = fmt.Errorf("deleted: %w", ErrInterrupted)
	// ErrShutdown stops all work because the process exits. The next process continues it.
	ErrShutdown = errors.New("shutting down")
	// ErrDeclined stops a turn because a user rejected an ask of it. The drain ends as if interrupted.
	ErrDeclined = errors.New("declined")
	// ErrCancelled stops a background job, or the search for a title, whose result is no longer wanted.
	ErrCancelled = errors.New("cancelled")
)

// ReasonOf returns the reason that is recorded for work stopped by the cancellation of ctx.
func ReasonOf(ctx context.Context) session.Reason {
	if errors.Is(context.Cause(ctx), ErrShutdown) {
		return session.ReasonInterrupted
	}
	return session.ReasonAborted
}

// AwaitGroup waits for the group until ctx ends, which means that the process is about to exit.
func AwaitGroup(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { // ends with the group
		wg.Wait()
		close(done)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-done:
		return nil
	}
}
