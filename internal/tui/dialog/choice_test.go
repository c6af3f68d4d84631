package dialog

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

// A question about what cannot be taken back says that it takes Enter, because its keys only select.
func TestChoiceSaysEnter(t *testing.T) {
	options := []Reply{{Key: "y", Label: "take it back"}, {Key: "n", Label: "keep it"}}
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{Options: options, Type: func(string) {}}, "enter: take it back  esc: keep it"},
		{Choice{Options: options, Type: func(string) {}, At: 1}, "enter: keep it  esc: keep it"},
		{Choice{Options: options}, "  n  keep it"},
	} {
		lines := c.choice.RenderLines(style.Theme{}, 60, 10)
		if got := ansi.Strip(lines[len(lines)-1]); got != c.want {
			t.Errorf("the last line is %q, want %q\n%s", got, c.want, strings.Join(lines, "\n"))
		}
	}
}
