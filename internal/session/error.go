package session

import (
	"fmt"
	"strings"
)

// Code classifies the errors that a caller sees.
type Code string

// The error codes. Servers map each to one HTTP status (api.Status).
const (
	CodeInvalid     Code = "invalid"     // invalid request: 400
	CodeNotFound    Code = "not-found"   // 404
	CodeConflict    Code = "conflict"    // an id is used for something else, or the session is busy: 409
	CodeTooLarge    Code = "too-large"   // 413
	CodeTooMany     Code = "too-many"    // a limit is reached; try again later: 429
	CodeDenied      Code = "denied"      // missing permission: 403
	CodeUnavailable Code = "unavailable" // shutting down, read-only, disk full: 503
	CodeInternal    Code = "internal"    // a bug of cairn: 500
)

// KindUnimplemented is the kind of a CodeInvalid error about a capability that is not built.
const KindUnimplemented = "unimplemented"

// Error is the only error whose message leaves the process. Any other error is shown as "internal" and logged.
type Error struct {
	Code    Code
	Message string
	Kind    string   // of thing that is missing or in conflict: "session", "message", "model", …
	Field   string   // the invalid input field
	ID      string   // of the thing
	Nearest []string // similar names that exist
	Reason  string   // why a caller is refused, for programs
	Err     error
}

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// KeyPlaceMark is in the message about a rejected key before the place of the key in the configuration. Storing another
// key does not help then.
const KeyPlaceMark = "; change the key in "

// NotFound returns the error that there is no thing of the kind with the id.
func NotFound(kind, id string, nearest ...string) *Error {
	e := Errorf(CodeNotFound, "%s %q not found", kind, ClipText(id, 80))
	e.Kind, e.ID, e.Nearest = kind, id, nearest
	return e
}

// Conflict returns the error that the thing with the id is used for something else; why completes the sentence.
func Conflict(kind, id, why string) *Error {
	e := Errorf(CodeConflict, "%s %q %s", kind, ClipText(id, 80), why)
	e.Kind, e.ID = kind, id
	return e
}

// At sets the field that the error is about and returns e.
func (e *Error) At(field string) *Error {
	e.Field = field
	return e
}

// Because sets the cause, which is logged and never shown, and returns e.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

func (e *Error) Error() string {
	switch {
	case len(e.Nearest) == 1:
		return e.Message + "; did you mean " + e.Nearest[0] + "?"
	case len(e.Nearest) > 1:
		return e.Message + "; similar names: " + strings.Join(e.Nearest, ", ")
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
