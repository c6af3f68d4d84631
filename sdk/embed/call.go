package embed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// leaveTimeout is how long a function of the program may go on after its context has ended. Then it is left alone, and
// what called it ends.
const leaveTimeout = 2 * time.Second

// errLeft says that a function of the program did not return when its context ended.
var errLeft = errors.New("it did not return when its context ended")

// errExited says that a function of the program ended its goroutine (runtime.Goexit), as t.Fatal of a test does.
var errExited = errors.New("it ended its goroutine")

// panicError is a panic of a function of the program.
type panicError struct {
	value any
	stack []byte
}

// Error returns what the function panicked with.
func (e *panicError) Error() string { return fmt.Sprintf("it panicked: %v", e.value) }

// call calls a function of the program in a goroutine of its own, so that neither a panic, nor the end of its
// goroutine, nor a wait without an end takes cairn's with it. It returns what f returns, or soon after ctx has ended.
func call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with f
		out := result{err: errExited}
		defer func() {
			if p := recover(); p != nil {
				out.err = &panicError{p, debug.Stack()}
			}
			done <- out
		}()
		out.value, out.err = f()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(leaveTimeout)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
		var none T
		return none, fmt.Errorf("%w: %w", errLeft, context.Cause(ctx))
	}
}
