package terminal

import (
	"bytes"
	"strings"
	"testing"
)

// TestLiveArea: what is written finds the area gone, and the area is drawn in place of the one before.
func TestLiveArea(t *testing.T) {
	var b bytes.Buffer
	width := 10
	out, err := NewTerminalStream(&b, false), NewTerminalStream(&b, false)
	a := newLiveArea(out, err, func() (int, int) { return width, 5 })
	a.DrawLines([]string{"one", strings.Repeat("x", 30)})
	a.DrawLines([]string{"one", strings.Repeat("x", 30)}) // the same
	width = 5                                             // the second line takes two now
	a.DrawLines([]string{"two"})
	out.WriteText("text")
	a.DrawLines([]string{"three"}) // not in the middle of a line
	out.EndLine()
	a.DrawLines([]string{"1", "2", "3", "4", "5", "6"})
	a.Clear()
	a.Clear()
	want := "\rone\x1b[K\r\nxxxxxxxx…\x1b[K\x1b[J" +
		"\r\x1b[2Atwo\x1b[K\x1b[J" + "\r\x1b[Jtext\n" +
		"\r3\x1b[K\r\n4\x1b[K\r\n5\x1b[K\r\n6\x1b[K\x1b[J" + "\r\x1b[3A\x1b[J"
	if got := b.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// TestNoLiveArea: what is no terminal has no area.
func TestNoLiveArea(t *testing.T) {
	var b bytes.Buffer
	none := func(string) string { return "xterm" }
	if NewLiveArea(NewStream(&b, none), NewStream(&b, none), none) != nil {
		t.Error("a pipe has a live area")
	}
}
