package composer

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestRenderLine: what is typed in one line shows its end or the cursor, as one row, at every width.
func TestRenderLine(t *testing.T) {
	tests := map[string]struct {
		text, want string
		left       int
	}{
		"short":           {"abc", "abc▏", 0},
		"cursor inside":   {"abc", "a▏bc", 2},
		"long":            {"0123456789abcdef", "…89abcdef▏", 0},
		"long, at start":  {"0123456789abcdef", "▏01234567…", 16},
		"wide":            {"漢字漢字漢字漢字漢x", "…漢字漢x▏", 0},
		"several lines":   {"a\nb", "a b▏", 0},
		"nothing, narrow": {"", "▏", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := &Editor{}
			e.SetText(tt.text)
			for range tt.left {
				e.ApplyEdit(Left)
			}
			if got := e.RenderLine(10); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			for width := 2; width < 30; width++ {
				if got := e.RenderLine(width); ansi.StringWidth(got) > width || strings.Contains(got, "\n") {
					t.Errorf("width %d: %q", width, got)
				}
			}
		})
	}
}

// TestDiscardText: an undo brings discarded text back, with what was pasted.
func TestDiscardText(t *testing.T) {
	e := &Editor{}
	paste := strings.Repeat("line\n", 20) + "end"
	e.PasteText(paste)
	e.DiscardText()
	if !e.IsEmpty() {
		t.Errorf("it holds %q", e.Text())
	}
	if e.UndoEdit(); e.Text() != paste {
		t.Errorf("after the undo: %q", e.Text())
	}
}
