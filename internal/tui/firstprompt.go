package tui

import (
	tea "charm.land/bubbletea/v2"
)

// firstPrompt is what the command line asks for. It waits until the session is open, so that a session at work queues
// the prompt, and until the offers are known, of which the effort and mentions of agents are.
type firstPrompt struct {
	text, effort    string
	opened, offered bool
}

// sendFirst takes the effort of the command line and sends its prompt, once. An effort that the model does not have
// leaves the prompt unsent.
func (m *model) sendFirst() tea.Cmd {
	first := m.first
	if !first.opened || !first.offered || first.text == "" && first.effort == "" {
		return nil
	}
	if first.effort != "" && !takeEffort(m, first.effort) {
		m.returnFirstPrompt()
		return nil
	}
	m.first.text, m.first.effort = "", ""
	if first.text == "" {
		return nil
	}
	// Send it as if it was typed, beside the draft.
	draft := m.editor
	m.editor.Clear()
	m.editor.SetText(first.text)
	m.editor.MarkPasted()
	cmd := submitText(m, false)
	if draft.IsEmpty() {
		return cmd
	}
	refused := m.editor.Text()
	m.editor = draft
	if refused != "" {
		m.keepBeside(refused)
	}
	return cmd
}

// returnFirstPrompt puts a prompt that cannot be sent into the composer, or beside a draft.
func (m *model) returnFirstPrompt() {
	text := m.first.text
	m.first.text, m.first.effort = "", ""
	switch {
	case text == "":
	case m.editor.IsEmpty():
		m.returnText(text)
	default:
		m.keepBeside(text)
	}
}

// keepBeside puts a text away, because a draft is in the composer. The note already says why it was not sent.
func (m *model) keepBeside(text string) {
	note := m.note
	if putAway(m, text) {
		m.note = note + "; the prompt is put away"
		return
	}
	m.returnText(text)
	m.note = note
}
