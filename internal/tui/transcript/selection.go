package transcript

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Select moves the selection by delta sections, which is not 0. Without one it begins at the last section.
func (m *Model) Select(delta int) {
	from := slices.Index(m.sections, m.selected)
	if len(m.sections) == 0 {
		return
	}
	if from < 0 {
		from = m.findBottom().section + 1
		delta = -1
	}
	m.sought = ""
	m.selectSection(min(max(from+delta, 0), len(m.sections)-1))
}

// EndSelection ends the selection, if there is one.
func (m *Model) EndSelection() { m.selectSection(-1) }

func (m *Model) selectSection(i int) {
	if m.selected != nil {
		m.selected.lines = nil
		m.selected.selected = false
	}
	m.selected = nil
	if i < 0 {
		return
	}
	m.selected = m.sections[i]
	m.selected.selected, m.selected.lines = true, nil
	m.scrollToSection(i)
}

// Toggle opens or closes the selected section, or the last one that can be opened.
func (m *Model) Toggle() {
	b := m.selected
	if b == nil {
		for _, b = range slices.Backward(m.sections) {
			if b.isCall() || m.isFolded(b) {
				break
			}
		}
	}
	if b != nil {
		b.toggled, b.lines = !b.toggled, nil
	}
}

// isFolded reports whether the section is a long prompt or a summary, which open like a call.
func (m *Model) isFolded(b *section) bool {
	switch x := b.item.(type) {
	case *session.Compaction:
		return x.Summary != ""
	case *session.User:
		_, more := painter{width: m.width}.foldText(x.DisplayText())
		return more > 0
	}
	return false
}

// ToggleAll opens all sections, or closes all.
func (m *Model) ToggleAll() {
	m.opened = !m.opened
	for _, b := range m.sections {
		b.toggled, b.lines = false, nil
	}
}

// SelectedMessage returns the message of the selected section, "" without one.
func (m *Model) SelectedMessage() session.MessageID {
	if m.selected == nil {
		return ""
	}
	return m.selected.message
}

// FindPrompt returns the first prompt after the message or, if inclusive is set, from it on; nil if no loaded message
// is one.
func (m *Model) FindPrompt(id session.MessageID, inclusive bool) *session.User {
	found := false
	for _, b := range m.sections {
		u, isPrompt := b.item.(*session.User)
		if isPrompt && (found && b.message != id || inclusive && b.message == id) {
			return u
		}
		found = found || b.message == id
	}
	return nil
}

// DescribeSelection quotes the beginning of the selected section, "" without a selection.
func (m *Model) DescribeSelection() string {
	if m.selected == nil {
		return ""
	}
	text := m.selected.text()
	switch x := m.selected.item.(type) {
	case *session.User:
		text = describe.PromptLine(x, quoteWidth)
	case *session.Tool:
		text = describe.DescribeCall(x.Name, x.State.Input)
	case *session.Shell:
		text = "! " + x.Command
	}
	return strconv.Quote(terminal.FirstLine(strings.TrimSpace(text), quoteWidth))
}

// quoteWidth bounds the words by which a message is named.
const quoteWidth = 60

// Copy returns a part of the selection, or of the newest message that has one; "" without one.
func (m *Model) Copy(what Excerpt) string {
	if m.selected != nil {
		return m.selected.copyPart(what)
	}
	for _, b := range slices.Backward(m.sections) {
		if _, isAnswer := b.item.(*session.Text); !isAnswer && what == ExcerptMessage {
			continue
		}
		if text := b.copyPart(what); text != "" {
			return text
		}
	}
	return ""
}
