// Package transfer exports and imports sessions in the form of OpenCode's export: {info, messages: [{info, parts}]}.
// Both ways go through the API of cairn, piece by piece: at most one page of messages is in memory. An export contains
// no recognised secrets unless they are requested. An import reads the document to its end before it writes anything;
// fields that cairn has no use for are stored with the session and exported again.
package transfer

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

// FormatError says that a document cannot be imported. Line is the line of the invalid value.
type FormatError struct {
	Name  string
	Line  int
	Field string
	What  string
}

func (m *FormatError) Error() string {
	if m.Field == "" {
		return fmt.Sprintf("%s:%d: %s", m.Name, m.Line, m.What)
	}
	return fmt.Sprintf("%s:%d: %s: %s", m.Name, m.Line, m.Field, m.What)
}

// ImportResult is the result of an import.
type ImportResult struct {
	Session  session.Session
	Messages int
	Known    bool       // it was imported before
	Deleted  session.ID // of the document, if a session with this id was deleted here after it had costs; Session has another
}
