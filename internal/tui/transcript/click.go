package transcript

import "github.com/cairn-dev/cairn/internal/session"

// ToggleLine opens or closes what is shown in a line of the box, counted from 0, if it can be opened.
func (m *Model) ToggleLine(line int) {
	i := m.sectionAt(line)
	if i < 0 {
		return
	}
	b := m.sections[i]
	switch b.item.(type) {
	case *session.Tool, *session.Shell, *session.Reasoning, *session.Compaction, *session.User:
		b.toggled, b.lines = !b.toggled, nil
		m.scrollToSection(i)
	}
}

// sectionAt returns the section of a line of the box, -1 where no section is.
func (m *Model) sectionAt(line int) int {
	if len(m.sections) == 0 || line < 0 {
		return -1
	}
	at := m.findBottom()
	above := min(at.line, m.height)
	first := at.section
	for first > 0 && above < m.height {
		first--
		above += len(m.linesOf(first))
	}
	above = min(above, m.height)
	if line >= above {
		return -1
	}
	// Count from the last line on the screen.
	left := above - 1 - line
	if left < at.line {
		return at.section
	}
	left -= at.line
	for i := at.section - 1; i >= first; i-- {
		n := len(m.linesOf(i))
		if left < n {
			return i
		}
		left -= n
	}
	return -1
}
