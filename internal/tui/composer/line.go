package composer

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// cursorSign marks the cursor in a line, where the terminal's own cursor is hidden.
const cursorSign = "▏"

// RenderLine shows the text as one line of at most width cells, with a sign at the cursor, which is always visible.
func (e *Editor) RenderLine(width int) string {
	return renderLine(e.lineText(0, e.cursor), e.lineText(e.cursor, len(e.runes)), width)
}

// RenderSecret is RenderLine with an asterisk for each character.
func (e *Editor) RenderSecret(width int) string {
	return renderLine(strings.Repeat("*", e.cursor), strings.Repeat("*", len(e.runes)-e.cursor), width)
}

// lineText is a part of the text with blanks for line breaks, and with the labels of tokens.
func (e *Editor) lineText(from, to int) string {
	var b strings.Builder
	for _, r := range e.runes[from:to] {
		switch t, ok := e.findToken(r); {
		case ok:
			b.WriteString(t.label)
		case r == '\n':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func renderLine(before, after string, width int) string {
	room := max(width-1, 1)
	if over := ansi.StringWidth(before) - room; over > 0 {
		whole := before
		for cut := over + 1; ansi.StringWidth(before) > room; cut++ { // a wide character is cut as a whole
			before = ansi.TruncateLeft(whole, cut, "…")
		}
	}
	rest := room - ansi.StringWidth(before)
	if rest <= 0 {
		return before + cursorSign
	}
	return before + cursorSign + ansi.Truncate(after, rest, "…")
}
