package document

import (
	"fmt"

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
