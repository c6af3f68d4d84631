// Package httpio reads requests and writes responses for the operations of every HTTP contract: bodies, query
// parameters and locations, strictly; errors that name the wrong part of a request; and requests that last until the
// server stops. It knows no operation, and not how a contract encodes its errors.
package httpio

import (
	"errors"

	"github.com/cairn-dev/cairn/internal/session"
)

// partError is an error about one part of a request: params, query, headers or body.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// WithPart says which part of the request err is about: params, query, headers or body. It returns nil if err is nil.
func WithPart(part string, err error) error {
	if err == nil {
		return nil
	}
	return &partError{part, err}
}

// NewInvalid returns an error of code invalid about a field of a part of the request.
func NewInvalid(part, field, format string, args ...any) error {
	return WithPart(part, session.Errorf(session.CodeInvalid, format, args...).At(field))
}

// ErrorPart returns the part of the request that err is about, "" if it does not say.
func ErrorPart(err error) string {
	if i, ok := errors.AsType[*partError](err); ok {
		return i.part
	}
	return ""
}
