// Package transfer gives sessions away and takes them in, in the form of OpenCode's export: {info, messages: [{info,
// parts}]}. Both ways go through a cairn's API, piece by piece: no more than a page of messages is held.
//
// What is exported has no secrets in it, as far as they can be told, unless that is asked for. What is imported is read to
// its end before anything is written, and is exported again as it was: what has no word here stands beside it.
package transfer

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

// Malformed is a document that is not what can be imported. Line is that of the value which is wrong.
type Malformed struct {
	Name  string
	Line  int
	Field string
	What  string
}

func (m *Malformed) Error() string {
	if m.Field == "" {
		return fmt.Sprintf("%s:%d: %s", m.Name, m.Line, m.What)
	}
	return fmt.Sprintf("%s:%d: %s: %s", m.Name, m.Line, m.Field, m.What)
}

// Taken is what was imported.
type Taken struct {
	Session  session.Session
	Messages int
	Known    bool // it was here already
}
