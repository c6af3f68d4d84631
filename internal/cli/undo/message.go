package undo

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
)

// isPrompt reports whether the message is a prompt, or a command that the user ran.
func isPrompt(m session.Message) bool {
	switch m.(type) {
	case *session.User, *session.Shell:
		return true
	}
	return false
}

// describeMessage returns the beginning of a message for people; "" if it has no text, command or call.
func describeMessage(m session.Message) string {
	const width = 70
	switch m := m.(type) {
	case *session.User:
		return term.FirstLine(m.DisplayText(), width)
	case *session.Shell:
		return term.FirstLine("!"+m.Command, width)
	case *session.Assistant:
		for _, item := range m.Content {
			switch item := item.(type) {
			case *session.Text:
				if item.Text != "" {
					return term.FirstLine(item.Text, width)
				}
			case *session.Tool:
				return term.FirstLine(item.Name, width)
			}
		}
	}
	return ""
}

// isSession reports whether an argument names a session rather than a message.
func isSession(arg string) bool {
	return arg == "last" || strings.HasPrefix(arg, string(session.PrefixSession))
}
