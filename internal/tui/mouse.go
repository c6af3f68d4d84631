package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// cell is a place on the screen, counted from 0.
type cell struct{ x, y int }

// isBefore reports whether the cell is read before another one.
func (c cell) isBefore(o cell) bool { return c.y < o.y || c.y == o.y && c.x < o.x }

// drag is the selection of text with the mouse. The zero value selects nothing.
type drag struct {
	pressed  bool // the button is down
	moved    bool // since then: text is selected
	from, to cell
	width    int // of the columns that are selected: the transcript's if it began there
}

// span returns the columns of a line that are selected, from inclusive to exclusive.
func (d drag) span(y int) (from, to int) {
	first, last := d.from, d.to
	if last.isBefore(first) {
		first, last = last, first
	}
	if !d.moved || y < first.y || y > last.y {
		return 0, 0
	}
	from, to = 0, d.width
	if y == first.y {
		from = first.x
	}
	if y == last.y {
		to = min(last.x+1, d.width)
	}
	return from, max(to, from)
}

// pressMouse begins a click or a selection.
func pressMouse(m *model, msg tea.MouseClickMsg) tea.Cmd {
	m.drag = drag{}
	if msg.Button != tea.MouseLeft {
		return nil
	}
	at := cell{msg.X, msg.Y}
	m.drag = drag{pressed: true, from: at, to: at, width: m.width}
	if len(m.dialogs) == 0 && msg.X < m.transcriptWidth() {
		m.drag.width = m.transcriptWidth()
	}
	return nil
}

// moveMouse extends the selection.
func moveMouse(m *model, msg tea.MouseMotionMsg) tea.Cmd {
	if m.drag.pressed {
		m.drag.to = cell{min(max(msg.X, 0), m.width-1), min(max(msg.Y, 0), m.height-1)}
		m.drag.moved = m.drag.moved || m.drag.to != m.drag.from
	}
	return nil
}

// releaseMouse copies the selected text; without a selection it opens or closes the item at the cell.
func releaseMouse(m *model) tea.Cmd {
	d := m.drag
	m.drag = drag{}
	switch {
	case !d.pressed:
		return nil
	case d.moved:
		return copySelected(m, d)
	case len(m.dialogs) == 0 && d.from.x < m.transcriptWidth() && d.from.y < m.transcriptHeight():
		m.transcript.ToggleLine(d.from.y - len(m.subagentLines()))
	}
	return nil
}

// copySelected copies the text of the last frame that is selected.
func copySelected(m *model, d drag) tea.Cmd {
	var lines []string
	for y, line := range m.frame {
		if from, to := d.span(y); to > from {
			lines = append(lines, strings.TrimRight(ansi.Strip(ansi.Cut(line, from, to)), " "))
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return nil
	}
	m.note = "copied the selected text"
	return tea.Raw(ansi.SetSystemClipboard(text))
}

// markSelected shows which part of the lines is selected.
func (m *model) markSelected(lines []string) []string {
	if !m.drag.moved {
		return lines
	}
	for y, line := range lines {
		from, to := m.drag.span(y)
		if to = min(to, ansi.StringWidth(line)); to > from {
			marked := m.theme.Selected.Render(ansi.Strip(ansi.Cut(line, from, to)))
			lines[y] = ansi.Cut(line, 0, from) + ansi.ResetStyle + marked + ansi.TruncateLeft(line, to, "")
		}
	}
	return lines
}
