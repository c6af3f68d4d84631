package sdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// Code classifies an Error.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid"     // the request is invalid: it fails again until it is changed
	CodeNotFound    Code = "not-found"   // there is no such session, message or other thing
	CodeConflict    Code = "conflict"    // the id is used for something else, or the session is busy with another thing
	CodeTooLarge    Code = "too-large"   // a limit of size was exceeded
	CodeTooMany     Code = "too-many"    // a limit of number was reached: try again later
	CodeDenied      Code = "denied"      // the credentials are missing, wrong, or not good for this
	CodeUnavailable Code = "unavailable" // the server cannot do it now: it ends, its disk is full, its data damaged
	CodeInternal    Code = "internal"    // a fault of the server
	CodeUnreachable Code = "unreachable" // the server did not answer, or is not a cairn server: it may have acted or not
	CodeClosed      Code = "closed"      // the client was closed
)

// Error is an error of a server, or of the way to it. Find it with errors.As.
type Error struct {
	Code    Code
	Message string   // for people; has no secrets
	Kind    string   // of the thing that is missing or in conflict, such as "session" or "model"; "" if that is not known
	ID      string   // of the thing
	Field   string   // of the request that is invalid
	Nearest []string // names that exist and resemble the one that does not
	Err     error    // the cause, for errors.Is and errors.As; nil if this process does not know it
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause; nil without one.
func (e *Error) Unwrap() error { return e.Err }

// Errors of Dial and of a closed client. Compare with errors.Is.
var (
	ErrNoServer = errors.New("no cairn server runs")
	ErrClosed   = error(&Error{Code: CodeClosed, Message: "the client is closed"})
)

// IsNotFound reports whether the error says that a thing does not exist.
func IsNotFound(err error) bool { return hasCode(err, CodeNotFound) }

func hasCode(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// newInvalid returns the error that a field of a request is invalid.
func newInvalid(field, format string, args ...any) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// publicError returns the error in the terms of this package.
func publicError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return &Error{
			Code: Code(e.Code), Message: e.Error(), Kind: e.Kind, ID: e.ID, Field: e.Field, Nearest: e.Nearest, Err: e.Err,
		}
	}
	if e, ok := errors.AsType[*api.TransportError](err); ok {
		return &Error{Code: CodeUnreachable, Message: "the server cannot be reached: " + e.Reason(), Err: e.Err}
	}
	if errors.Is(err, ErrNoServer) {
		return &Error{Code: CodeUnreachable, Message: err.Error(), Err: err}
	}
	return err
}

// call makes a call, which ends when the client is closed, and returns its error in the terms of this package.
func (c *Client) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := c.untilClosed(ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return publicError(f(ctx))
}

// callUntilAnswered makes a call whose request has an id, so that the server acts on it once: if the connection breaks
// before the answer, the request is sent again, for follow.ReconnectTimeout.
func (c *Client) callUntilAnswered(ctx context.Context, f func(context.Context) error) error {
	return c.call(ctx, func(ctx context.Context) error {
		err := follow.RepeatUntilAnswered(ctx, func() error { return f(ctx) })
		if ctx.Err() != nil && follow.IsConnectionLost(err) {
			return context.Cause(ctx)
		}
		return err
	})
}

// untilClosed returns a context that ends with ctx or, with ErrClosed, when the client is closed.
func (c *Client) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.life.Err() != nil { // AfterFunc would say so a little later
		cancel(ErrClosed)
	}
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}
