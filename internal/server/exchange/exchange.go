// Package exchange is what the operations of every contract share of one request and its answer: reading bodies, query
// parameters and locations strictly, saying which part of a request is wrong, and ending what lasts when the server
// does. It knows no operation, and no envelope in which a contract tells its errors.
package exchange

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// invalid says which part of the request is wrong, beside what.
type invalid struct {
	part string // params, query, headers, body
	err  error
}

func (e *invalid) Error() string { return e.err.Error() }
func (e *invalid) Unwrap() error { return e.err }

// In says in which part of the request the error is: params, query, headers, body. PartOf reads it.
func In(part string, err error) error {
	if err == nil {
		return nil
	}
	return &invalid{part, err}
}

// Bad is an error of code invalid about a field.
func Bad(part, field, format string, args ...any) error {
	return In(part, session.Errorf(session.CodeInvalid, format, args...).At(field))
}

// Clip shortens what somebody sent, so that it can be told.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s…", strings.ToValidUTF8(s[:n], ""))
}

// PartOf returns the part of the request that the error is about, "" if it is about none.
func PartOf(err error) string {
	if i, ok := errors.AsType[*invalid](err); ok {
		return i.part
	}
	return ""
}
