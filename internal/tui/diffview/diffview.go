// Package diffview renders patches for a terminal: unified, or side by side where there is room.
package diffview

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/tui/style"
)

// sideBySide is the width from which on the sides are beside each other.
const sideBySide = 140

// Render returns the lines of a patch in the unified format, each of at most width cells. The patch may have control
// characters only at the ends of lines.
func Render(th style.Theme, patch string, width int) []string {
	rows := parsePatch(strings.ReplaceAll(patch, "\t", "    "))
	digits := 1
	for _, r := range rows {
		digits = max(digits, len(strconv.Itoa(max(r.before, r.after))))
	}
	if width >= sideBySide {
		return renderSides(th, rows, width, digits)
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.renderUnified(th, width, digits)
	}
	return out
}

// row is a line of a patch: of a hunk with its numbers in the files, or a heading.
type row struct {
	kind          byte // ' ', '+', '-', or '@' for a heading
	before, after int  // 0 where the line is not
	text          string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// parsePatch returns the rows of the patch. Lines before the first hunk of a file are left out, but for its name if
// there are several files.
func parsePatch(patch string) []row {
	var rows []row
	files := strings.Count("\n"+patch, "\n+++ ")
	before, after, inHunk := 0, 0, false
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if m := hunkHead.FindStringSubmatch(line); m != nil {
			before, _ = strconv.Atoi(m[1])
			after, _ = strconv.Atoi(m[2])
			if inHunk {
				rows = append(rows, row{kind: '@', text: "⋯"})
			}
			inHunk = true
			continue
		}
		if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Index: ") {
			inHunk = false
		}
		if !inHunk {
			if name, ok := strings.CutPrefix(line, "+++ "); ok && files > 1 {
				rows = append(rows, row{kind: '@', text: strings.TrimPrefix(name, "b/")})
			}
			if strings.HasPrefix(line, "Binary files ") {
				rows = append(rows, row{kind: '@', text: line})
			}
			continue
		}
		if line == "" {
			line = " "
		}
		r := row{kind: line[0], text: line[1:]}
		switch line[0] {
		case '+':
			r.after, after = after, after+1
		case '-':
			r.before, before = before, before+1
		case ' ':
			r.before, r.after, before, after = before, after, before+1, after+1
		default: // "\ No newline at end of file"
			r = row{kind: '@', text: strings.TrimPrefix(line, "\\ ")}
		}
		rows = append(rows, r)
	}
	return rows
}

func (r row) renderUnified(th style.Theme, width, digits int) string {
	if r.kind == '@' {
		return th.Muted.Render(ansi.Truncate(r.text, width, "…"))
	}
	number := r.after
	if r.kind == '-' {
		number = r.before
	}
	return r.renderSide(th, width, digits, number)
}

// renderSide returns the row with the number.
func (r row) renderSide(th style.Theme, width, digits, number int) string {
	text := ansi.Truncate(string(r.kind)+" "+r.text, max(width-digits-1, 1), "…")
	switch r.kind {
	case '+':
		text = th.Added.Render(text)
	case '-':
		text = th.Removed.Render(text)
	}
	return th.Muted.Render(fmt.Sprintf("%*d ", digits, number)) + text
}

// renderSides returns the rows with what was before on the left and what is after on the right. Removed lines stand
// beside the added ones that follow them.
func renderSides(th style.Theme, rows []row, width, digits int) (out []string) {
	half := (width - 3) / 2
	for i := 0; i < len(rows); {
		switch rows[i].kind {
		case '@':
			out = append(out, th.Muted.Render(ansi.Truncate(rows[i].text, width, "…")))
			i++
		case ' ':
			r := rows[i]
			out = append(out, joinSides(th, r.renderSide(th, half, digits, r.before),
				r.renderSide(th, half, digits, r.after), half))
			i++
		default:
			removed := countKind(rows[i:], '-')
			added := countKind(rows[i+removed:], '+')
			for n := range max(removed, added) {
				left, right := "", ""
				if n < removed {
					left = rows[i+n].renderSide(th, half, digits, rows[i+n].before)
				}
				if n < added {
					r := rows[i+removed+n]
					right = r.renderSide(th, half, digits, r.after)
				}
				out = append(out, joinSides(th, left, right, half))
			}
			i += removed + added
		}
	}
	return out
}

// countKind returns how many rows at the beginning are of the kind.
func countKind(rows []row, kind byte) (n int) {
	for n < len(rows) && rows[n].kind == kind {
		n++
	}
	return n
}

func joinSides(th style.Theme, left, right string, half int) string {
	return left + strings.Repeat(" ", max(half-ansi.StringWidth(left), 0)) + th.Border.Render(" │ ") + right
}
