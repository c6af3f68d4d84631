package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Table prints columns of short texts, aligned for people.
type Table struct {
	out  *Stream
	Head []string
	rows [][]string

	Ruled     bool     // a line as long as the head stands below it
	Right     []string // heads of the columns of numbers, which end at the same place
	MinWidths []int    // widths of the first columns, at least
}

// NewTable returns a table with these column heads.
func NewTable(out *Stream, head ...string) *Table { return &Table{out: out, Head: head} }

func (t *Table) AddRow(cells ...string) { t.rows = append(t.rows, cells) }

func (t *Table) Print() {
	// Each column is as wide as its widest cell.
	width := make([]int, len(t.Head))
	copy(width, t.MinWidths)
	for _, row := range append([][]string{t.Head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	// write pads all cells but the last, those of numbers in front. The style comes after padding, because its codes have
	// no width.
	write := func(row []string, style string) {
		var b strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if slices.Contains(t.Right, t.Head[i]) {
				cell, padding = padding+cell, ""
			}
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(padding + "  ")
			}
		}
		text := strings.TrimRight(b.String(), " ")
		if style != "" {
			text = t.out.PaintText(style, text)
		}
		t.out.Printf("%s\n", text)
	}
	write(t.Head, Dim)
	// The rule spans the columns, and the head of the last one.
	if t.Ruled {
		last := len(width) - 1
		whole := 2*last + utf8.RuneCountInString(t.Head[last])
		for _, w := range width[:last] {
			whole += w
		}
		t.out.Printf("%s\n", strings.Repeat("─", whole))
	}
	for _, row := range t.rows {
		write(row, "")
	}
}
