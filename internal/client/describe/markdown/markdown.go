// Package markdown renders the Markdown that models write as styled lines for a terminal: headings, lists, quotes,
// tables, code with simple highlighting, and emphasis. What it does not know stays as it is written.
package markdown

import (
	"regexp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

// Render returns the text, which has no control characters but line ends and tabs, as lines of at most width cells.
func Render(th style.Theme, text string, width int) []string {
	s := NewLiveText(th, width)
	s.AddLines(text)
	return s.Render("")
}

// LiveText renders a text that grows: each of its lines once, and the last one whenever it has grown.
type LiveText struct{ r renderer }

// NewLiveText returns a text of lines of at most width cells.
func NewLiveText(th style.Theme, width int) *LiveText {
	return &LiveText{renderer{theme: th, width: max(width, 4)}}
}

// AddLines adds complete lines.
func (s *LiveText) AddLines(text string) {
	for line := range strings.Lines(text) {
		s.r.addLine(expandTabs(line))
	}
}

// Render returns all lines, and those of a last one as far as it has arrived; "" adds nothing.
func (s *LiveText) Render(last string) []string {
	r := s.r
	r.lines, r.table = slices.Clip(r.lines), slices.Clip(r.table)
	if last != "" {
		r.addLine(expandTabs(last))
	}
	r.flushTable()
	return r.lines
}

// TakeLines returns the lines that are complete, and forgets them. The rows of a table are complete with the line after
// them.
func (s *LiveText) TakeLines() []string {
	lines := s.r.lines
	s.r.lines = nil
	return lines
}

// TakeRest returns the lines that are left, with a last one that has no line end.
func (s *LiveText) TakeRest(last string) []string {
	if last != "" {
		s.r.addLine(expandTabs(last))
	}
	s.r.flushTable()
	return s.TakeLines()
}

func expandTabs(line string) string {
	return strings.ReplaceAll(strings.TrimRight(line, "\r\n "), "\t", "    ")
}

// renderer renders lines one after another.
type renderer struct {
	theme style.Theme
	width int
	lines []string

	fence string // that ends the code block; "" outside of one
	code  highlighter
	table [][]string // the cells of the rows that came last
}

var (
	heading  = regexp.MustCompile(`^ {0,3}(#{1,6}) +(.+?)(?: +#+)?$`)
	listItem = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)]) +(.*)$`)
	taskBox  = regexp.MustCompile(`^\[([ xX])\] `)
	rule     = regexp.MustCompile(`^ {0,3}([-*_])(?: *[-*_]){2,} *$`)
	divider  = regexp.MustCompile(`^[ |:-]*-[ |:-]*$`)
)

// maxColumns bounds the columns of a table. A line with more is text.
const maxColumns = 40

// isRow reports whether a line is a row of a table.
func isRow(trimmed string) bool {
	n := strings.Count(trimmed, "|")
	return strings.HasPrefix(trimmed, "|") && n > 1 && n <= maxColumns
}

// fenceOf returns the mark with which a line opens a code block, "" for other lines.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && !strings.Contains(line[n:], "`") {
			return line[:n]
		}
	}
	return ""
}

func closesFence(line, fence string) bool {
	return strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == ""
}

func (r *renderer) addLine(line string) {
	trimmed := strings.TrimSpace(line)
	if r.fence != "" {
		if closesFence(trimmed, r.fence) {
			r.fence = ""
			return
		}
		r.addCode(line)
		return
	}
	if isRow(trimmed) {
		r.addRow(trimmed)
		return
	}
	r.flushTable()
	if mark := fenceOf(trimmed); mark != "" {
		r.fence, r.code = mark, newHighlighter(r.theme, strings.TrimSpace(trimmed[len(mark):]))
		return
	}
	r.addBlock(line, trimmed)
}

// addBlock adds a line outside of code and tables.
func (r *renderer) addBlock(line, trimmed string) {
	// In this order: blank lines, headings, rules, quotes, list items; all else is a paragraph.
	if trimmed == "" {
		r.lines = append(r.lines, "")
		return
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		for _, l := range wrap(styleInline(r.theme, m[2]), r.width) {
			r.lines = append(r.lines, r.theme.Heading.Render(l))
		}
		return
	}
	if rule.MatchString(line) {
		r.lines = append(r.lines, r.theme.Border.Render(strings.Repeat("─", min(r.width, 40))))
		return
	}
	if quote, ok := strings.CutPrefix(trimmed, ">"); ok {
		r.addWrapped(r.theme.Border.Render("│ "), r.theme.Border.Render("│ "), strings.TrimPrefix(quote, " "))
		return
	}
	if m := listItem.FindStringSubmatch(line); m != nil {
		mark, text := m[2], m[3]
		if strings.Contains("-*+", mark) {
			mark = "•"
		}
		if box := taskBox.FindStringSubmatch(text); box != nil {
			mark, text = "☐", text[len(box[0]):]
			if box[1] != " " {
				mark = "☑"
			}
		}
		indent := strings.Repeat(" ", min(len(m[1]), r.width/2))
		r.addWrapped(indent+r.theme.Accent.Render(mark)+" ", indent+strings.Repeat(" ", ansi.StringWidth(mark)+1), text)
		return
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	indent = indent[:min(len(indent), r.width/2)]
	r.addWrapped(indent, indent, trimmed)
}

// addWrapped adds a paragraph with a prefix of its first line and one of the others.
func (r *renderer) addWrapped(first, rest, text string) {
	prefix := first
	for _, l := range wrap(styleInline(r.theme, text), max(r.width-ansi.StringWidth(first), 2)) {
		r.lines = append(r.lines, prefix+l)
		prefix = rest
	}
}

// addCode adds a line of code. It is not wrapped at words, so that copies of it stay code.
func (r *renderer) addCode(line string) {
	for _, l := range strings.Split(ansi.Hardwrap(r.code.styleLine(line), max(r.width-2, 2), true), "\n") {
		r.lines = append(r.lines, "  "+l)
	}
}

// wrap returns the text as lines, each with the styles that hold in it. Where words and styles meet, the wrapping at
// words may be a cell too wide.
func wrap(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(lipgloss.Wrap(text, width, ""), "\n") {
		if ansi.StringWidth(line) > width {
			lines = append(lines, strings.Split(lipgloss.Wrap(ansi.Hardwrap(line, width, true), width, ""), "\n")...)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// addRow adds a row of a table, which is rendered when it is complete.
func (r *renderer) addRow(line string) { r.table = append(r.table, splitRow(line)) }

// splitRow returns the cells of a row of a table.
func splitRow(line string) (cells []string) {
	cell := ""
	for i, part := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") {
		if before, ok := strings.CutSuffix(cell, "\\"); ok { // \| is text
			cell = before + "|" + part
			continue
		}
		if i > 0 {
			cells = append(cells, strings.TrimSpace(cell))
		}
		cell = part
	}
	return append(cells, strings.TrimSpace(cell))
}

// flushTable renders the table, if there is one, with columns of equal width.
func (r *renderer) flushTable() {
	rows := r.table
	r.table = nil
	if len(rows) == 0 {
		return
	}
	widths := measureColumns(r.theme, rows, r.width)
	for i, cells := range rows {
		if i == 1 && isDivider(cells) {
			parts := make([]string, len(widths))
			for c, w := range widths {
				parts[c] = strings.Repeat("─", w)
			}
			r.lines = append(r.lines, r.theme.Border.Render(ansi.Truncate(strings.Join(parts, "─┼─"), r.width, "")))
			continue
		}
		r.addCells(cells, widths, i == 0)
	}
}

// addCells adds the lines of a row of a table; a cell that is wider than its column is wrapped.
func (r *renderer) addCells(cells []string, widths []int, isHeading bool) {
	columns, height := make([][]string, len(widths)), 1
	for c := range min(len(cells), len(widths)) {
		columns[c] = wrap(styleInline(r.theme, cells[c]), widths[c])
		height = max(height, len(columns[c]))
	}
	for n := range height {
		var b strings.Builder
		for c, w := range widths {
			cell := ""
			if n < len(columns[c]) {
				cell = strings.TrimRight(columns[c][n], " ")
			}
			if isHeading {
				cell = r.theme.Heading.Render(cell)
			}
			if c > 0 {
				b.WriteString(r.theme.Border.Render(" │ "))
			}
			b.WriteString(cell + strings.Repeat(" ", max(w-ansi.StringWidth(cell), 0)))
		}
		r.lines = append(r.lines, ansi.Truncate(strings.TrimRight(b.String(), " "), r.width, "…"))
	}
}

// isDivider reports whether a row separates the headings of a table from its rows.
func isDivider(cells []string) bool { return divider.MatchString(strings.Join(cells, "|")) }

// measureColumns returns the widths of the columns. A table that is too wide gets narrower columns, the widest first.
func measureColumns(th style.Theme, rows [][]string, width int) []int {
	var widths []int
	for i, cells := range rows {
		if i == 1 && isDivider(cells) {
			continue
		}
		for c, cell := range cells {
			if c == len(widths) {
				widths = append(widths, 1)
			}
			widths[c] = max(widths[c], ansi.StringWidth(styleInline(th, cell)))
		}
	}
	const narrowest = 6
	for {
		sum, widest := 3*(len(widths)-1), 0
		for c, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = c
			}
		}
		if sum <= width || widths[widest] <= narrowest {
			return widths
		}
		widths[widest] = max(widths[widest]-(sum-width), narrowest)
	}
}
