package undo

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// describeMessage returns the beginning of a message for people; "" if it has no text, command or call.
func describeMessage(m session.Message) string {
	const width = 70
	switch m := m.(type) {
	case *session.User:
		return describe.PromptLine(m, width)
	case *session.Shell:
		return terminal.FirstLine("!"+m.Command, width)
	case *session.Assistant:
		for _, item := range m.Content {
			switch item := item.(type) {
			case *session.Text:
				if item.Text != "" {
					return terminal.FirstLine(item.Text, width)
				}
			case *session.Tool:
				return terminal.FirstLine(item.Name, width)
			}
		}
	}
	return ""
}

// isSession reports whether an argument names a session rather than a message.
func isSession(arg string) bool {
	return arg == "last" || strings.HasPrefix(arg, string(session.PrefixSession))
}
