package transcript

import (
	"slices"
	"strings"
)

// findEnd returns the position of the last line.
func (m *Model) findEnd() linePosition {
	last := len(m.sections) - 1
	if last < 0 {
		return linePosition{}
	}
	return linePosition{last, len(m.linesOf(last))}
}

// findBottom returns the position of the last line on the screen.
func (m *Model) findBottom() linePosition {
	if m.follow || m.bottom.section >= len(m.sections) {
		return m.findEnd()
	}
	return linePosition{m.bottom.section, min(m.bottom.line, len(m.linesOf(m.bottom.section)))}
}

// visibleLines returns the lines on the screen.
func (m *Model) visibleLines() []string {
	if len(m.sections) == 0 {
		return nil
	}
	at := m.findBottom()
	lines := m.linesOf(at.section)[:at.line]
	out := slices.Clone(lines[max(len(lines)-m.height, 0):])
	for i := at.section - 1; i >= 0 && len(out) < m.height; i-- {
		lines = m.linesOf(i)
		out = append(slices.Clone(lines[max(len(lines)-(m.height-len(out)), 0):]), out...)
	}
	return out
}

// countAbove returns how many lines are above the position and at it, at most limit.
func (m *Model) countAbove(p linePosition, limit int) int {
	n := p.line
	for i := p.section - 1; i >= 0 && n < limit; i-- {
		n += len(m.linesOf(i))
	}
	return min(n, limit)
}

// AtTop reports whether the first line is on the screen.
func (m *Model) AtTop() bool {
	return len(m.sections) == 0 || m.countAbove(m.findBottom(), m.height+1) <= m.height
}

// ScrollBy moves the box down by lines, up with a negative number. At the end it follows new lines.
func (m *Model) ScrollBy(lines int) {
	if len(m.sections) == 0 {
		return
	}
	p := m.findBottom()
	p.line += lines
	for p.section < len(m.sections)-1 && p.line > len(m.linesOf(p.section)) {
		p.line -= len(m.linesOf(p.section))
		p.section++
	}
	for p.line <= 0 && p.section > 0 {
		p.section--
		p.line += len(m.linesOf(p.section))
	}
	p.line = min(max(p.line, 1), len(m.linesOf(p.section)))
	if m.countAbove(p, m.height) < m.height { // the first line stays at the top
		m.ScrollTo(true)
		return
	}
	m.bottom, m.follow = p, p == m.findEnd()
}

// ScrollTo goes to the first line or the last.
func (m *Model) ScrollTo(top bool) {
	m.follow = true
	if !top {
		return
	}
	p := linePosition{}
	for left := m.height; p.section < len(m.sections); p.section++ {
		n := len(m.linesOf(p.section))
		if n >= left {
			p.line = left
			m.bottom, m.follow = p, false
			return
		}
		left -= n
	}
}

// scrollToSection brings the first line of a section to the screen, and all of it if there is room.
func (m *Model) scrollToSection(i int) {
	at, lines := m.findBottom(), len(m.linesOf(i))
	below := i > at.section || i == at.section && at.line < lines
	if !below {
		above := at.line // lines from the beginning of the section to the end of the screen
		for j := at.section - 1; j >= i && above <= m.height; j-- {
			above += len(m.linesOf(j))
		}
		if above <= m.height {
			return
		}
	}
	m.bottom, m.follow = linePosition{i, min(lines, m.height)}, false
	m.ScrollBy(min(max(m.height-lines, 0), m.height/3))
}

// View returns the lines of the box.
func (m *Model) View() string {
	lines := m.visibleLines()
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
}
