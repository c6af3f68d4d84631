// Package dialog holds what the terminal interface shows above the session: asks, questions, choices, pickers, texts.
package dialog

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Dialog takes all keys while it is open.
type Dialog interface {
	// PressKey handles a key. closed reports that the dialog is done; cmd is what it decided.
	PressKey(k tea.KeyPressMsg) (cmd tea.Cmd, closed bool)
	// PasteText handles pasted text.
	PasteText(text string)
	// RenderLines returns at most height lines, none wider than width.
	RenderLines(th style.Theme, width, height int) []string
}

// KeyUse says whom a key belongs to while the dialog of an ask is below the transcript and the composer is empty.
type KeyUse int

// The uses of a key.
const (
	ForPrompt KeyUse = iota // it begins a prompt
	ForDialog               // it moves in the dialog, or edits a line of it
	Answers                 // it answers, unless more text follows
)

// KeyUser is a dialog that shares the keyboard with the composer.
type KeyUser interface {
	Dialog
	UseOf(k tea.KeyPressMsg) KeyUse
	// TakeBack undoes what an answering key has opened and returns the text of that key, because more text followed: it
	// was the beginning of a prompt.
	TakeBack() (typed string)
}

// isText reports whether the key is text, as that of a prompt.
func isText(k tea.KeyPressMsg) bool { return k.Text != "" && k.Mod&^tea.ModShift == 0 }

// Clip cuts a line at the width. It may have styles.
func Clip(line string, width int) string { return ansi.Truncate(line, max(width, 1), "…") }

// titleLine returns a title, which may have the words of others, as one line without control characters.
func titleLine(th style.Theme, title string, width int) string {
	return th.Heading.Render(Clip(terminal.FirstLine(title, 500), width))
}

// Wrap returns the lines of a text of others, without control characters, wrapped at the width.
func Wrap(text string, width int) []string {
	text = strings.ReplaceAll(terminal.ReplaceControls(strings.TrimRight(text, "\n")), "\t", "    ")
	return strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
}

// windowOf returns the lines that are shown of a longer list: height of them, with the line at among them.
func windowOf[T any](lines []T, at, height int) (part []T, first int) {
	if len(lines) <= height || height <= 0 {
		return lines, 0
	}
	first = min(max(at-height/2, 0), len(lines)-height)
	return lines[first : first+height], first
}

// describePosition says which lines of a longer text are shown: shown ones after the first above.
func describePosition(above, shown, all int) string {
	return fmt.Sprintf("lines %d-%d of %s", above+1, above+shown, terminal.FormatCount(int64(all)))
}
