package opencode

import "github.com/cairn-dev/cairn/internal/session"

// Error is the reason why a step failed.
type (
	Error     = session.PublicError
	ErrorData = session.PublicErrorData
)

// errorOf returns nil for a step that did not fail.
func errorOf(m *session.Assistant) *Error {
	if m.Error == nil || isDeclined(m) {
		return nil
	}
	return m.Error.PublicForm(m.Model.ProviderID)
}
