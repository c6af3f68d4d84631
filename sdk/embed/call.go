package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// call calls a function of the program in a goroutine of its own, so that a panic and the end of its goroutine are
// errors, and a call that does not return ends soon after ctx. It returns what f returns. A panic is logged with the
// name.
func call[T any](ctx context.Context, logger *slog.Logger, name string, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with f
		out := result{err: errExited}
		defer func() {
			if p := recover(); p != nil {
				logger.Error("a function of the program panicked", "function", name, "panic", p, "stack", string(debug.Stack()))
				out.err = fmt.Errorf("it panicked: %v", p)
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
