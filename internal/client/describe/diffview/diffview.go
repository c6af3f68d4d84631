// Package diffview renders patches for a terminal: unified, or side by side where there is room.
package diffview

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

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
func Render(th style.Theme, patch string, width int, fold bool) []string {
	rows := parsePatch(strings.ReplaceAll(patch, "\t", "    "))
	digits := 1
	for _, r := range rows {
		digits = max(digits, len(strconv.Itoa(max(r.before, r.after))))
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

// CountLines returns how many lines a patch in the unified format adds and removes.
func CountLines(patch string) (added, removed int) {
	for _, r := range parsePatch(patch) {
		switch r.kind {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// IsEmpty reports whether a patch has the head of a file at most.
func IsEmpty(patch string) bool {
	for line := range strings.Lines(patch) {
		if !isFileHead(line) && !strings.HasPrefix(line, "=====") && !strings.HasPrefix(line, "+++ ") {
			return false
		}
	}
	return true
}

// row is a line of a patch: of a hunk with its numbers in the files, or a heading.
type row struct {
	kind          byte // ' ', '+', '-', or '@' for a heading
	before, after int  // 0 where the line is not
	text          string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunk is the position in a hunk: the numbers of the next lines in the files, and how many lines of each are left.
type hunk struct{ before, after, beforeLeft, afterLeft int }

// parseHead returns the beginning of the hunk whose head the line is.
func parseHead(line string) (h hunk, ok bool) {
	m := hunkHead.FindStringSubmatch(line)
	if m == nil {
		return hunk{}, false
	}
	count := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil { // left out
			return 1
		}
		return n
	}
	return hunk{count(m[1]), count(m[3]), count(m[2]), count(m[4])}, true
}

// readRow returns the row of a line of the hunk.
func (h *hunk) readRow(line string) row {
	if line == "" {
		line = " "
	}
	r := row{kind: line[0], text: line[1:]}
	switch line[0] {
	case '+', '-', ' ':
	default: // "\ No newline at end of file"
		return row{kind: '@', text: strings.TrimPrefix(line, "\\ ")}
	}
	if r.kind != '+' {
		r.before, h.before, h.beforeLeft = h.before, h.before+1, h.beforeLeft-1
	}
	if r.kind != '-' {
		r.after, h.after, h.afterLeft = h.after, h.after+1, h.afterLeft-1
	}
	return r
}

// parsePatch returns the rows of the patch. Lines before the first hunk of a file are left out, but for its name if
// there are several files. A line that a hunk has room for belongs to it, although it looks like the head of a file.
func parsePatch(patch string) []row {
	var rows []row
	files := strings.Count("\n"+patch, "\n+++ ")
	inHunk, h := false, hunk{}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if next, ok := parseHead(line); ok {
			if inHunk {
				rows = append(rows, row{kind: '@', text: "⋯"})
			}
			inHunk, h = true, next
			continue
		}
		if h.beforeLeft <= 0 && h.afterLeft <= 0 && isFileHead(line) {
			inHunk = false
		}
		if inHunk {
			rows = append(rows, h.readRow(line))
			continue
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok && files > 1 {
			rows = append(rows, row{kind: '@', text: strings.TrimPrefix(name, "b/")})
		}
		if strings.HasPrefix(line, "Binary files ") {
			rows = append(rows, row{kind: '@', text: line})
		}
	}
	return rows
}

// isFileHead reports whether the line may begin a file, where no hunk goes on.
func isFileHead(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Index: ")
}

func (p painter) renderUnified(r row, width int) []string {
	number := r.after
	switch r.kind {
	case '@':
		return []string{p.renderHeading(r, width)}
	case '-':
		number = r.before
	}
	return p.renderSide(r, width, number)
}

func (p painter) renderHeading(r row, width int) string {
	return p.theme.Muted.Render(ansi.Truncate(r.text, width, "…"))
}

// renderSide returns the row with the number.
func (p painter) renderSide(r row, width, number int) (lines []string) {
	text, room := string(r.kind)+" "+r.text, max(width-p.digits-1, 1)
	if p.fold {
		text = ansi.Hardwrap(text, room, true)
	} else {
		text = ansi.Truncate(text, room, "…")
	}
	margin := fmt.Sprintf("%*d ", p.digits, number)
	for part := range strings.SplitSeq(text, "\n") {
		switch r.kind {
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
func (p painter) renderSides(rows []row, width int) (out []string) {
	half := (width - 3) / 2
	for i := 0; i < len(rows); {
		switch r := rows[i]; r.kind {
		case '@':
			out = append(out, p.renderHeading(r, width))
			i++
		case ' ':
			out = append(out, p.joinSides(p.renderSide(r, half, r.before), p.renderSide(r, half, r.after), half)...)
			i++
		default:
			removed := countKind(rows[i:], '-')
			added := countKind(rows[i+removed:], '+')
			for n := range max(removed, added) {
				var left, right []string
				if n < removed {
					left = p.renderSide(rows[i+n], half, rows[i+n].before)
				}
				if n < added {
					right = p.renderSide(rows[i+removed+n], half, rows[i+removed+n].after)
				}
				out = append(out, p.joinSides(left, right, half)...)
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
