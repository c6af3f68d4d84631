package transcript

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/session"
)

// Search returns how many sections contain the text, in any case of letters.
func (m *Model) Search(text string) (hits int) {
	for _, b := range m.sections {
		if b.contains(text) {
			hits++
		}
	}
	return hits
}

// SelectHit selects the next section above the selection that contains the text; with wrap, after the first one the
// last. It reports whether there is one.
func (m *Model) SelectHit(text string, wrap bool) bool {
	from := slices.Index(m.sections, m.selected)
	if from < 0 {
		from = len(m.sections)
	}
	until := from
	if wrap {
		until = len(m.sections)
	}
	for n := range until {
		if i := (from - 1 - n + 2*len(m.sections)) % len(m.sections); m.sections[i].contains(text) {
			m.sought = text
			m.selectSection(i)
			m.showHit(i)
			return true
		}
	}
	return false
}

// SelectItem selects the section of an item of a message, or the first one of the message if it does not show the item,
// and marks what is sought in it. It reports whether there is one.
func (m *Model) SelectItem(id session.MessageID, part session.PartID, sought string) bool {
	i := slices.IndexFunc(m.sections, func(b *section) bool { return b.message == id && b.part() == part })
	if i < 0 {
		i = slices.IndexFunc(m.sections, func(b *section) bool { return b.message == id })
	}
	if i < 0 {
		return false
	}
	m.sought = sought
	m.selectSection(i)
	m.showHit(i)
	return true
}

// showHit brings the first line of the section with a hit to the screen. If none is shown, it opens the section.
func (m *Model) showHit(i int) {
	b := m.sections[i]
	hit := func(line string) bool { at, _ := findFold(ansi.Strip(line), m.sought); return at >= 0 }
	line := slices.IndexFunc(m.linesOf(i), hit)
	if line < 0 && !m.isOpen(b) {
		b.toggled, b.lines = !b.toggled, nil
		line = slices.IndexFunc(m.linesOf(i), hit)
	}
	if line < m.height { // it is on the screen with the first line
		return
	}
	m.bottom, m.follow = linePosition{i, min(line+m.height/2, len(m.linesOf(i)))}, false
}

// markHits marks what is sought in a line with styles, and reports whether it has it.
func (m *Model) markHits(line string) (string, bool) {
	plain, marked, from := ansi.Strip(line), "", 0
	for m.sought != "" {
		at, end := findFold(plain[from:], m.sought)
		if at < 0 {
			break
		}
		at, end = from+at, from+end
		marked += ansi.Cut(line, ansi.StringWidth(plain[:from]), ansi.StringWidth(plain[:at]))
		marked += m.theme.Selected.Render(plain[at:end])
		from = end
	}
	return marked + ansi.TruncateLeft(line, ansi.StringWidth(plain[:from]), ""), from > 0
}

// findFold returns where text has what is sought, in any case of letters: from at to end; at is -1 if it does not.
func findFold(text, sought string) (at, end int) {
	lower, want := strings.ToLower(text), strings.ToLower(sought)
	if len(lower) != len(text) { // the positions would differ
		lower, want = text, sought
	}
	at = strings.Index(lower, want)
	return at, at + len(want)
}
