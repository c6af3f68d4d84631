package sidebar

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestRenderLines: the bar has exactly its size, and says how much it leaves out.
func TestRenderLines(t *testing.T) {
	th, err := style.New("", func(string) string { return "1" })
	if err != nil {
		t.Fatal(err)
	}
	b := Bar{Unknown: true}
	for i := range 30 {
		path := session.FilePath("internal/wide/漢字/" + strings.Repeat("x", i) + "/file.go")
		b.Files = append(b.Files, session.ChangedFile{Path: path, Additions: 1000 * i, Status: "deleted"})
		todo := session.Todo{Content: strings.Repeat("a long step ", i), Status: session.TodoInProgress}
		b.Todos = append(b.Todos, todo)
	}
	for height := range 50 {
		lines := b.RenderLines(th, height)
		if len(lines) != height {
			t.Errorf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w != Width {
				t.Errorf("height %d: a line of %d cells: %q", height, w, ansi.Strip(l))
			}
		}
		if text := strings.Join(lines, "\n"); height > 10 && strings.Count(text, "more") != 2 {
			t.Errorf("height %d:\n%s", height, ansi.Strip(text))
		}
	}
}
