package config

import (
	"fmt"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/session"
)

// Position is a position in a file or environment variable. Line and Column count from 1, columns in characters; both
// are 0 for the file as a whole.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Error is a reason why a configuration cannot be used, with position, key and what is expected. It contains no values.
type Error struct {
	Position
	Key     string `json:"key"` // dotted; "" if the file is not valid JSON
	Message string `json:"message"`
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s: %s", e.Position, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Position, e.Key, e.Message)
}

// Unwrap returns a domain error with the same text, which may be shown to callers.
func (e *Error) Unwrap() error { return session.Errorf(session.CodeInvalid, "%s", e.Error()).At(e.Key) }

// AsWarning returns e as the warning under which a Markdown file is left out; false if e is of another file, so that the
// configuration cannot be used.
func (e *Error) AsWarning() (Warning, bool) {
	return Warning{e.Position, WarnUnread, e.Key, "is left out: " + e.Message}, filepath.Ext(e.File) == ".md"
}

// Warning reports a part of a configuration that has no effect, and why.
type Warning struct {
	Position
	Kind    WarningKind `json:"kind"`
	Key     string      `json:"key"`
	Message string      `json:"message"`
}

func (w Warning) String() string {
	if w.Key == "" {
		return fmt.Sprintf("%s: %s", w.Position, w.Message)
	}
	return fmt.Sprintf("%s: %s %s", w.Position, w.Key, w.Message)
}

// WarningKind is the category of a warning.
type WarningKind string

// The kinds of warning.
const (
	WarnUnknown   WarningKind = "unknown"   // no such key, or no such agent
	WarnUnused    WarningKind = "unused"    // a key of OpenCode that has no effect in cairn
	WarnUnsent    WarningKind = "unsent"    // an option or provider setting with an invalid value
	WarnIgnored   WarningKind = "ignored"   // a key that project files may not set
	WarnUnset     WarningKind = "unset"     // {env:NAME} of a variable that is not set
	WarnUnread    WarningKind = "unread"    // a file that cannot be read and is not required
	WarnUntrusted WarningKind = "untrusted" // a key that has no effect until the project is trusted
)
