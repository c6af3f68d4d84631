package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// LiveArea is the last lines of a terminal, which are replaced while work goes on. They disappear before anything else
// is written to the streams of the terminal, and with Clear. One goroutine owns the area and the streams.
type LiveArea struct {
	out, err *Stream
	size     func() (width, height int)
	widths   []int  // cells of the lines on the screen
	shown    string // the lines, as they were written
}

// NewLiveArea returns the area below what out and err write to one terminal; nil if they do not, or if the terminal
// cannot move its cursor.
func NewLiveArea(out, err *Stream, env func(string) string) *LiveArea {
	f, ok := err.w.(*os.File)
	if !ok || !out.Terminal || !err.Terminal || env("TERM") == "dumb" || env("TERM") == "" {
		return nil
	}
	size := func() (width, height int) {
		width, height, _ = term.GetSize(int(f.Fd())) // 0, 0 with an error
		return width, height
	}
	if width, _ := size(); width == 0 {
		return nil
	}
	return newLiveArea(out, err, size)
}

func newLiveArea(out, err *Stream, size func() (width, height int)) *LiveArea {
	a := &LiveArea{out: out, err: err, size: size}
	out.before, err.before = a.Clear, a.Clear
	return a
}

// MeasureRoom returns how many lines the area may have, and how wide they are.
func (a *LiveArea) MeasureRoom() (width, lines int) {
	width, height := a.size()
	return max(width-1, 1), min(height-1, 12)
}

// DrawLines shows the lines, cut at the width of the terminal, in place of those before. It shows none while a line is
// unfinished.
func (a *LiveArea) DrawLines(lines []string) {
	width, most := a.MeasureRoom()
	if a.out.Midline || a.err.Midline || len(lines) == 0 || most < 1 {
		a.Clear()
		return
	}
	lines = lines[max(len(lines)-most, 0):]
	var b strings.Builder
	widths := make([]int, len(lines))
	for i, l := range lines {
		l = ansi.Truncate(l, width, "…")
		widths[i] = ansi.StringWidth(l)
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l + "\x1b[K")
	}
	if b.String() == a.shown {
		return
	}
	_, _ = io.WriteString(a.err.w, a.moveToTop()+b.String()+"\x1b[J") // the next line of the work meets the error
	a.widths, a.shown = widths, b.String()
}

// Clear removes the area from the screen.
func (a *LiveArea) Clear() {
	if a.widths == nil {
		return
	}
	_, _ = io.WriteString(a.err.w, a.moveToTop()+"\x1b[J") // as in DrawLines
	a.widths, a.shown = nil, ""
}

// moveToTop returns what moves the cursor to the beginning of the area. A terminal that became narrower has wrapped the
// lines.
func (a *LiveArea) moveToTop() string {
	width, _ := a.size()
	up := -1
	for _, w := range a.widths {
		up += max((w+width-1)/max(width, 1), 1)
	}
	if up <= 0 {
		return "\r"
	}
	return "\r" + ansi.CursorUp(up)
}
