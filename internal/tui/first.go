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
// leaves the prompt in the composer.
func (m *model) sendFirst() tea.Cmd {
	first := m.first
	if !first.opened || !first.offered || first.text == "" && first.effort == "" {
		return nil
	}
	m.first.text, m.first.effort = "", ""
	if first.effort != "" {
		takeEffort(m, first.effort)
		if m.model == nil || m.model.Variant != first.effort {
			m.returnText(first.text)
			return nil
		}
	}
	if first.text == "" {
		return nil
	}
	// Send it as if it was typed; a kept draft comes back into the composer.
	draft := m.editor.Text()
	m.editor.SetText(first.text)
	cmd := submitText(m, false)
	if draft != "" {
		m.returnText(draft)
	}
	return cmd
}

// keepFirst puts a prompt that cannot be sent into the composer.
func (m *model) keepFirst() {
	if m.first.text != "" {
		m.returnText(m.first.text)
	}
	m.first.text, m.first.effort = "", ""
}
