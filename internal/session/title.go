package session

import "strings"

// The beginnings of the titles of sessions without a title of their own, which OpenCode's clients know. That of a child
// session stays; any other is replaced by a title made of the first prompt.
const (
	UntitledPrefix      = "New session - "
	UntitledChildPrefix = "Child session - "
)

// IsUntitled reports whether the session waits for an automatic title.
func (s *Session) IsUntitled() bool {
	return s.TitledBy == "" && strings.HasPrefix(s.Title, UntitledPrefix)
}
