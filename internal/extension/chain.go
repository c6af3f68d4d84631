package extension

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The defaults of a Chain.
const (
	defaultBudget = 5 * time.Second
	maxValue      = 16 << 20 // bytes of a value in JSON
)

// Config of a Chain.
type Config struct {
	Extensions []Extension   // called in this order
	Budget     time.Duration // for all extensions without a Timeout together at one point; 0 is 5 s
	Logger     *slog.Logger
}

// Chain calls extensions at points. A nil Chain has none. Safe for concurrent use.
type Chain struct {
	config Config
}

// NewChain returns the chain of the extensions, nil without any.
func NewChain(c Config) *Chain {
	if len(c.Extensions) == 0 {
		return nil
	}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Chain{c}
}

// Begin returns a run of the chain, for one turn or one act of a caller.
func (c *Chain) Begin() *Run {
	if c == nil {
		return nil
	}
	return &Run{chain: c, failed: map[string]string{}}
}

// Run calls the extensions of a chain during one turn. An extension that panics or does not answer in time is not called
// again in it: what the extension guards then fails. A nil Run has no extensions. Safe for concurrent use.
type Run struct {
	chain *Chain

	mu     sync.Mutex
	failed map[string]string // why an extension is not called any more, by id
}

// Error is the failure of an extension at a point.
type Error struct {
	Extension string
	Point     Point
	Err       error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the extension %s failed (%s): %v", e.Extension, e.Point, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// guards are the points at which the failure of an extension fails what it looks at.
var guards = map[Point]bool{
	PointPrompt: true, PointCall: true, PointResult: true, PointPermission: true, PointEnvironment: true,
	PointCommand: true,
}

// hasAny reports whether an extension has an interest in a point.
func hasAny[T any](r *Run, of func(*Extension) func(context.Context, *T) error) bool {
	if r == nil {
		return false
	}
	for i := range r.chain.config.Extensions {
		if of(&r.chain.config.Extensions[i]) != nil {
			return true
		}
	}
	return false
}

// call calls the extensions that have an interest in the point, one after the other, each with what the one before left.
// It returns the ids of those that changed the value. An error is an *Error, or the cause of ctx's end.
func call[T any](
	ctx context.Context, r *Run, p Point, v *T, of func(*Extension) func(context.Context, *T) error,
) (by []string, err error) {
	if !hasAny(r, of) {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.chain.config.Budget)
	defer cancel()
	for i := range r.chain.config.Extensions {
		e := &r.chain.config.Extensions[i]
		f := of(e)
		if f == nil {
			continue
		}
		// Call it with a copy: one that does not return keeps the copy.
		err := r.findFailure(e.ID)
		next := *v
		if err == nil {
			own, cancelOwn := limited, func() {}
			if e.Timeout > 0 {
				own, cancelOwn = context.WithTimeout(ctx, e.Timeout)
			}
			next, err = callOne(own, r, e.ID, f, *v)
			cancelOwn()
		}
		if ctx.Err() != nil {
			return by, context.Cause(ctx)
		}
		// Take what it left.
		changed := err == nil && !reflect.DeepEqual(*v, next)
		if changed {
			err = checkSize(next)
		}
		switch {
		case err != nil && guards[p] && !e.Lenient:
			return by, &Error{e.ID, p, err}
		case err != nil:
			r.chain.config.Logger.Warn("an extension failed", "extension", e.ID, "point", p, "error", err)
		case changed:
			*v, by = next, append(by, e.ID)
		}
	}
	return by, nil
}

// callOne calls one function with a copy of the value. One that panics, or does not return in time, is not called again
// in the run.
func callOne[T any](
	ctx context.Context, r *Run, id string, f func(context.Context, *T) error, v T,
) (next T, err error) {
	type outcome struct {
		value T
		err   error
		crash bool
	}
	done := make(chan outcome, 1)
	go func() { // ends with f, which may take longer than the caller waits
		o := outcome{value: v}
		defer func() {
			if p := recover(); p != nil {
				r.chain.config.Logger.Error("an extension panicked",
					"extension", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				o.err, o.crash = fmt.Errorf("it panicked: %v", p), true
			}
			done <- o
		}()
		o.err = f(ctx, &o.value)
	}()
	select {
	case o := <-done:
		if o.crash {
			r.noteFailure(id, o.err)
		}
		return o.value, o.err
	case <-ctx.Done():
		err := errors.New("it did not answer in time")
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			r.noteFailure(id, err)
		}
		return v, err
	}
}

// noteFailure makes the extension fail for the rest of the run.
func (r *Run) noteFailure(id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[id] = err.Error()
	r.chain.config.Logger.Warn("an extension is not called again in this turn", "extension", id, "error", err)
}

// findFailure returns why the extension is not called any more, nil if it is.
func (r *Run) findFailure(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.failed[id]; why != "" {
		return errors.New(why)
	}
	return nil
}

// checkSize refuses a value that is too large.
func checkSize(v any) error {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err == nil && len(raw) > maxValue {
		err = fmt.Errorf("it returned %d bytes, the limit is %d", len(raw), maxValue)
	}
	return err
}
