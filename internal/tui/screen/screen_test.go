package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/tui/screen"
)

// update returns the output of a frame; changes is the output for the lines that differ.
func update(changes string) string { return "\x1b[?2026h\x1b[?25l" + changes + "\x1b[?2026l" }

// TestDraw: a frame writes the lines that differ from the one on the screen, as one synchronized update.
func TestDraw(t *testing.T) {
	var out strings.Builder
	s := screen.New(&out, []string{"TERM=xterm"}, false)
	for _, step := range []struct {
		about string
		do    func()
		want  string
	}{
		{"nothing before the size is known", func() { s.DrawPicture(screen.Picture{Lines: []string{"a"}}) }, ""},
		{
			"opened",
			func() { s.Resize(4, 3) },
			"\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1004h\x1b[?2027h\x1b[>4;2m\x1b[?1007l\x1b[>1u\x1b[2J",
		},
		{
			"the first frame is complete; a full line is not erased at its end",
			func() { s.DrawPicture(screen.Picture{Lines: []string{"a", "full"}, Title: "t"}) },
			update("\x1b[Ha\x1b[m\x1b[K\x1b[2;1Hfull\x1b[m\x1b[3;1H\x1b[m\x1b[K\x1b]2;t\a"),
		},
		{"the same", func() { s.DrawPicture(screen.Picture{Lines: []string{"a", "full"}, Title: "t"}) }, ""},
		{
			"one line, and the cursor",
			func() { s.DrawPicture(screen.Picture{Lines: []string{"a", "b"}, Title: "t", X: 1, Y: 1, Cursor: true}) },
			update("\x1b[2;1Hb\x1b[m\x1b[K\x1b[2;2H\x1b[?25h"),
		},
		{
			"the cursor alone",
			func() { s.DrawPicture(screen.Picture{Lines: []string{"a", "b"}, Title: "t", Cursor: true}) },
			update("\x1b[H\x1b[?25h"),
		},
		{
			"after a resize all lines, and no more than there are",
			func() { s.Resize(4, 1); s.DrawPicture(screen.Picture{Lines: []string{"a", "b"}, Title: "t"}) },
			update("\x1b[Ha\x1b[m\x1b[K\x1b]2;t\a"),
		},
		{
			"closed",
			s.Close,
			"\x1b]2;\a\x1b[<1u\x1b[?1007h\x1b[>4m\x1b[?2027l\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l",
		},
		{"nothing while it is closed", func() { s.Close(); s.DrawPicture(screen.Picture{Lines: []string{"c"}}) }, ""},
	} {
		out.Reset()
		step.do()
		if got := out.String(); got != step.want {
			t.Errorf("%s:\ngot  %q\nwant %q", step.about, got, step.want)
		}
	}
}

// TestColors: a terminal gets the colours that it has.
func TestColors(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"TERM=xterm-256color", "\x1b[1;38;5;80mx"},
		{"TERM=xterm", "\x1b[1;96mx"},
		{"TERM=xterm NO_COLOR=1", "\x1b[1mx"},
		{"", "\x1b[1mx"},
	} {
		var out strings.Builder
		s := screen.New(&out, append(strings.Fields(c.env), "TTY_FORCE=1"), false)
		s.Resize(4, 1)
		s.DrawPicture(screen.Picture{Lines: []string{"\x1b[1;38;5;80mx\x1b[m"}})
		if got := out.String(); !strings.Contains(got, "\x1b[H"+c.want) {
			t.Errorf("%s: want %q in %q", c.env, c.want, got)
		}
	}
}

// TestStreamedBytes: what a text that streams into the last line writes has the size of its line, and clears nothing.
func TestStreamedBytes(t *testing.T) {
	var out strings.Builder
	s := screen.New(&out, []string{"TERM=xterm-256color"}, false)
	s.Resize(100, 30)
	lines := make([]string, 30)
	s.DrawPicture(screen.Picture{Lines: lines})
	out.Reset()
	for i := range 1000 {
		lines[i/90] = fmt.Sprint(strings.Repeat("x", i%90))
		s.DrawPicture(screen.Picture{Lines: lines})
	}
	if strings.Contains(out.String(), "\x1b[2J") || out.Len() > 150_000 {
		t.Errorf("%d bytes for 1000 frames that change one line", out.Len())
	}
}
