// Package exchange is what the operations of every contract share of one request and its answer: reading bodies, query
// parameters and locations strictly, saying which part of a request is wrong, and ending what lasts when the server
// does. It knows no operation, and no envelope in which a contract tells its errors.
package httpio

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// partError says which part of the request is wrong, beside what.
type partError struct {
	part string // params, query, headers, body
	err  error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// WithPart says in which part of the request the error is: params, query, headers, body. ErrorPart reads it.
func WithPart(part string, err error) error {
	if err == nil {
		return nil
	}
	return &partError{part, err}
}

// Invalid is an error of code invalid about a field.
func Invalid(part, field, format string, args ...any) error {
	return WithPart(part, session.Errorf(session.CodeInvalid, format, args...).At(field))
}

// Clip shortens what somebody sent, so that it can be told.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s…", strings.ToValidUTF8(s[:n], ""))
}

// ErrorPart returns the part of the request that the error is about, "" if it is about none.
func ErrorPart(err error) string {
	if i, ok := errors.AsType[*partError](err); ok {
		return i.part
	}
	return ""
}
