package cli

import (
	"strings"
	"unicode/utf8"
)

// table is columns of short texts, aligned for people.
type table struct {
	out  *stream
	head []string
	rows [][]string

	ruled bool  // a line as long as the head stands below it
	least []int // widths of the first columns, at least
}

func (a *app) table(head ...string) *table { return &table{out: a.out, head: head} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print() {
	width := make([]int, len(t.head))
	copy(width, t.least)
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	write := func(row []string, style string) {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		text := strings.TrimRight(b.String(), " ")
		if style != "" {
			text = t.out.paint(style, text)
		}
		t.out.printf("%s\n", text)
	}
	write(t.head, dim)
	if t.ruled {
		last := len(width) - 1
		whole := 2*last + utf8.RuneCountInString(t.head[last])
		for _, w := range width[:last] {
			whole += w
		}
		t.out.printf("%s\n", strings.Repeat("─", whole))
	}
	for _, row := range t.rows {
		write(row, "")
	}
}
