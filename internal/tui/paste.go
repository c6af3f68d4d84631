package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/clipboard"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// pasteText gives pasted text to the dialog on top, or to the composer if the dialog has no place for text. One that
// asks for a confirmation is closed then, because its keys would be taken for the text that follows.
func pasteText(m *model, text string) tea.Cmd {
	if n := len(m.dialogs); n > 0 {
		switch d := m.dialogs[n-1].(type) {
		case *dialog.Choice:
			m.closeDialog(d)
			m.editor.Insert(d.TakeBack())
		case *dialog.Text:
			if m.note = "the pasted text is in the composer"; d.Enter != nil {
				m.closeDialog(d)
			}
		case *dialog.Search:
			return d.Paste(text)
		default:
			d.PasteText(text)
			return nil
		}
	}
	typed := tea.KeyPressMsg{Code: tea.KeyExtended, Text: text + " "}
	if m.takesAskKeys() && m.asks.dialog.UseOf(typed) == dialog.ForDialog {
		m.asks.dialog.PasteText(text) // into a line of the dialog
		return nil
	}
	if m.takesAskKeys() {
		m.asks.beginText(&m.editor)
	}
	m.editor.PasteText(text)
	return tea.Batch(m.asks.holdOff(), inspectPasted(m, text))
}

// pasteImage writes the image in the clipboard to a file and mentions that in the prompt, whose content it becomes.
func pasteImage(m *model) tea.Cmd {
	m.note = "reading the clipboard"
	return m.run(func(ctx context.Context) tea.Msg {
		path, err := clipboard.SaveImage(ctx, m.options.Env)
		return func() tea.Cmd {
			if err != nil {
				m.showError("paste an image", err)
				return nil
			}
			m.note = ""
			return pasteText(m, path)
		}
	})
}
