package config

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

// Place is where something stands: a file or the name of a variable, and where in it. Line and Column count from 1,
// columns in characters; both are 0 when the whole is meant.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Error says why a configuration cannot be used: where, which key, and what is expected. It holds no values.
type Error struct {
	Place
	Key     string `json:"key"` // dotted; "" when the file is no JSON
	Message string `json:"message"`
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s: %s", e.Place, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Place, e.Key, e.Message)
}

// Unwrap makes the words of e those of a domain error, which callers may see.
func (e *Error) Unwrap() error { return session.Errorf(session.CodeInvalid, "%s", e.Error()).At(e.Key) }

// Warning says what in a configuration has no effect, and why.
type Warning struct {
	Place
	Kind    WarningKind `json:"kind"`
	Key     string      `json:"key"`
	Message string      `json:"message"`
}

func (w Warning) String() string {
	if w.Key == "" {
		return fmt.Sprintf("%s: %s", w.Place, w.Message)
	}
	return fmt.Sprintf("%s: %s %s", w.Place, w.Key, w.Message)
}

// WarningKind sorts warnings.
type WarningKind string

// The kinds of warning.
const (
	WarnUnknown   WarningKind = "unknown"   // no such key
	WarnUnused    WarningKind = "unused"    // a key that does nothing here
	WarnUnsent    WarningKind = "unsent"    // an option of requests or a provider's setting whose value is none for it
	WarnIgnored   WarningKind = "ignored"   // not taken from a project's files
	WarnUnset     WarningKind = "unset"     // {env:NAME} of a variable that is not set
	WarnUnread    WarningKind = "unread"    // a file of the project, or a folder's, that cannot be read
	WarnUntrusted WarningKind = "untrusted" // not taken from a project's files before they are trusted
)
