package engine

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// brought is the system text that the prompt which is answered brought, "" if it brought none.
func (h *history) brought() string {
	for _, m := range slices.Backward(h.messages) {
		if u, ok := m.(*session.User); ok {
			return u.System
		}
	}
	return ""
}

// brings is the system text that the prompt with the id brought.
func (h *history) brings(prompt session.MessageID) string {
	for _, m := range slices.Backward(h.messages) {
		if u, ok := m.(*session.User); ok && u.ID == prompt {
			return u.System
		}
	}
	return ""
}
