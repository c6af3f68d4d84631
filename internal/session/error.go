package session

import (
	"fmt"
	"strings"
)

// Code sorts the errors that a caller may be told about.
type Code string

// The codes. Surfaces map each to one status (api.Status).
const (
	CodeInvalid     Code = "invalid"     // the request is wrong: 400
	CodeNotFound    Code = "not-found"   // 404
	CodeConflict    Code = "conflict"    // an id was used for something else, or the session is busy: 409
	CodeTooLarge    Code = "too-large"   // 413
	CodeTooMany     Code = "too-many"    // a bound is reached, try later: 429
	CodeDenied      Code = "denied"      // permission: 403
	CodeUnavailable Code = "unavailable" // shutting down, read-only, disk full: 503
	CodeInternal    Code = "internal"    // ours: 500
)

// Error is the only error whose words leave the process. Everything else is "internal" outside and logged inside.
type Error struct {
	Code    Code
	Message string
	Kind    string   // what was not found or in conflict: "session", "message", "model", …
	Field   string   // which input is wrong
	ID      string   // the id it is about
	Nearest []string // what the caller may have meant
	Err     error
}

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NotFound says that there is no kind with the id.
func NotFound(kind, id string, nearest ...string) *Error {
	e := Errorf(CodeNotFound, "there is no %s %q", kind, clip(id, 80))
	e.Kind, e.ID, e.Nearest = kind, id, nearest
	return e
}

// Conflict says that the id of a kind is already used for something else.
func Conflict(kind, id, why string) *Error {
	e := Errorf(CodeConflict, "%s %q %s", kind, clip(id, 80), why)
	e.Kind, e.ID = kind, id
	return e
}

// At names the field that the error is about and returns e.
func (e *Error) At(field string) *Error {
	e.Field = field
	return e
}

// Because adds a cause that is logged, never shown, and returns e.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

func (e *Error) Error() string {
	switch {
	case len(e.Nearest) == 1:
		return e.Message + "; did you mean " + e.Nearest[0] + "?"
	case len(e.Nearest) > 1:
		return e.Message + "; the nearest are " + strings.Join(e.Nearest, ", ")
	default:
		return e.Message
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same code and, if target names one, the same kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Kind == "" || t.Kind == e.Kind)
}
