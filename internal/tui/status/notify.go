package status

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// Notifier tells a person who looks elsewhere that something waits.
type Notifier struct{ Off bool }

// TellPerson rings the bell and, if the terminal has lost the focus, sends a notification in the forms that terminals
// know: OSC 9 and OSC 777.
func (n Notifier) TellPerson(title, text string, blurred bool) tea.Cmd {
	if n.Off {
		return nil
	}
	if !blurred {
		return tea.Raw("\a")
	}
	title, text = oscText(title), oscText(text)
	return tea.Raw(fmt.Sprintf("\a\x1b]9;%s: %s\x1b\\\x1b]777;notify;%s;%s\x1b\\", title, text, title, text))
}

// oscText is text without what would end the sequence or begin another field.
func oscText(text string) string { return strings.ReplaceAll(terminal.FirstLine(text, 120), ";", ",") }
