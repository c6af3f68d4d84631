// Package diffview renders patches for a terminal: unified, or side by side where there is room.
package diffview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/patch"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

// sideBySide is the width from which on the sides are beside each other: that of a screen with 120 columns, less the
// indentation below a call.
const sideBySide = 118

// painter renders the rows of a patch.
type painter struct {
	theme  style.Theme
	digits int  // of the greatest line number
	fold   bool // long lines are wrapped, not cut
}

// Render returns the lines of a patch in the unified format, each of at most width cells. Longer ones are wrapped with
// fold, else cut. The patch may have control characters only at the ends of lines.
func Render(th style.Theme, text string, width int, fold bool) []string {
	rows := patch.Parse(strings.ReplaceAll(text, "\t", "    "))
	digits := 1
	for _, r := range rows {
		digits = max(digits, len(strconv.Itoa(max(r.Before, r.After))))
	}
	p := painter{th, digits, fold}
	if width >= sideBySide {
		return p.renderSides(rows, width)
	}
	var out []string
	for _, r := range rows {
		out = append(out, p.renderUnified(r, width)...)
	}
	return out
}

func (p painter) renderUnified(r patch.Row, width int) []string {
	number := r.After
	switch r.Kind {
	case '@':
		return []string{p.renderHeading(r, width)}
	case '-':
		number = r.Before
	}
	return p.renderSide(r, width, number)
}

func (p painter) renderHeading(r patch.Row, width int) string {
	return p.theme.Muted.Render(ansi.Truncate(r.Text, width, "…"))
}

// renderSide returns the row with the number.
func (p painter) renderSide(r patch.Row, width, number int) (lines []string) {
	text, room := string(r.Kind)+" "+r.Text, max(width-p.digits-1, 1)
	if p.fold {
		text = ansi.Hardwrap(text, room, true)
	} else {
		text = ansi.Truncate(text, room, "…")
	}
	margin := fmt.Sprintf("%*d ", p.digits, number)
	for part := range strings.SplitSeq(text, "\n") {
		switch r.Kind {
		case '+':
			part = p.theme.Added.Render(part)
		case '-':
			part = p.theme.Removed.Render(part)
		}
		lines = append(lines, p.theme.Muted.Render(margin)+part)
		margin = strings.Repeat(" ", p.digits+1)
	}
	return lines
}

// renderSides returns the rows with what was before on the left and what is after on the right. Removed lines stand
// beside the added ones that follow them.
func (p painter) renderSides(rows []patch.Row, width int) (out []string) {
	half := (width - 3) / 2
	for i := 0; i < len(rows); {
		switch r := rows[i]; r.Kind {
		case '@':
			out = append(out, p.renderHeading(r, width))
			i++
		case ' ':
			out = append(out, p.joinSides(p.renderSide(r, half, r.Before), p.renderSide(r, half, r.After), half)...)
			i++
		default:
			removed := countKind(rows[i:], '-')
			added := countKind(rows[i+removed:], '+')
			for n := range max(removed, added) {
				var left, right []string
				if n < removed {
					left = p.renderSide(rows[i+n], half, rows[i+n].Before)
				}
				if n < added {
					right = p.renderSide(rows[i+removed+n], half, rows[i+removed+n].After)
				}
				out = append(out, p.joinSides(left, right, half)...)
			}
			i += removed + added
		}
	}
	return out
}

// countKind returns how many rows at the beginning are of the kind.
func countKind(rows []patch.Row, kind byte) (n int) {
	for n < len(rows) && rows[n].Kind == kind {
		n++
	}
	return n
}

// joinSides puts the lines beside each other; the shorter side ends with empty ones.
func (p painter) joinSides(left, right []string, half int) (out []string) {
	line := func(side []string, i int) string {
		if i < len(side) {
			return side[i]
		}
		return ""
	}
	for i := range max(len(left), len(right)) {
		l := line(left, i)
		pad := strings.Repeat(" ", max(half-ansi.StringWidth(l), 0))
		out = append(out, l+pad+p.theme.Border.Render(" │ ")+line(right, i))
	}
	return out
}
