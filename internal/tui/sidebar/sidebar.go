// Package sidebar shows what a session changed in files, and the model's list of todos, beside the transcript.
package sidebar

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// The width of the bar, and the least one of a screen that has it.
const (
	Width       = 36
	ScreenWidth = 120
)

// Bar is the content of the side bar.
type Bar struct {
	Files   []session.ChangedFile
	Unknown bool // there may be further changes
	Todos   []session.Todo
}

// RenderLines returns height lines, each exactly Width cells wide, with a border at the left. The todos have at most
// half of the lines, unless the files need fewer.
func (b Bar) RenderLines(th style.Theme, height int) []string {
	const border = "│ "
	room := Width - 2
	todos := b.renderTodos(th, room)
	files := b.renderFiles(th, room, height-min(len(todos), height/2))
	if len(todos) > 0 {
		files = append(files, "")
	}
	if left := max(height-len(files), 0); len(todos) > left {
		todos = append(todos[:max(left-1, 0)], th.Muted.Render(fmt.Sprintf("… and %d more", len(todos)-left+1)))
	}
	lines := append(files, todos...)
	out := make([]string, max(height, 0))
	for i := range out {
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		out[i] = th.Border.Render(border) + text + strings.Repeat(" ", max(room-ansi.StringWidth(text), 0))
	}
	return out
}

func (b Bar) renderFiles(th style.Theme, width, height int) []string {
	added, removed := 0, 0
	for _, f := range b.Files {
		added, removed = added+f.Additions, removed+f.Deletions
	}
	if len(b.Files) == 0 {
		return []string{th.Heading.Render("Changed files"), th.Muted.Render("none")}
	}
	head := th.Heading.Render(terminal.FormatPlural(len(b.Files), "changed file"))
	lines := []string{joinCounts(head, renderCounts(th, added, removed), width)}
	for i, f := range b.Files {
		if len(lines) >= height-2 && i < len(b.Files)-1 {
			lines = append(lines, th.Muted.Render(fmt.Sprintf("… and %d more", len(b.Files)-i)))
			break
		}
		name := terminal.FirstLine(string(f.Path), 400)
		if f.Status == "deleted" {
			name += " (deleted)"
		}
		name = th.Text.Render(shortenPath(name, width-12))
		lines = append(lines, joinCounts(name, renderCounts(th, f.Additions, f.Deletions), width))
	}
	if b.Unknown {
		lines = append(lines, th.Warning.Render("there may be further changes"))
	}
	return lines
}

func renderCounts(th style.Theme, added, removed int) string {
	return th.Added.Render(fmt.Sprintf("+%d", added)) + " " + th.Removed.Render(fmt.Sprintf("-%d", removed))
}

// joinCounts returns text with the counts at the right end.
func joinCounts(text, counts string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text)-ansi.StringWidth(counts), 1)) + counts
}

// shortenPath keeps the end of a path, which names the file.
func shortenPath(path string, width int) string {
	if w := ansi.StringWidth(path); w > width {
		return ansi.TruncateLeft(path, w-width+1, "…")
	}
	return path
}

func (b Bar) renderTodos(th style.Theme, width int) (lines []string) {
	if len(b.Todos) == 0 {
		return nil
	}
	lines = []string{th.Heading.Render("Todos")}
	for i, l := range describe.FormatTodos(b.Todos) {
		st := th.Text
		switch b.Todos[i].Status {
		case session.TodoCompleted, session.TodoCancelled:
			st = th.Muted
		case session.TodoInProgress:
			st = th.Accent
		}
		for _, row := range strings.Split(ansi.Wrap(l, width-4, ""), "\n") {
			if !strings.HasPrefix(l, row) {
				row = "    " + row
			}
			lines = append(lines, st.Render(row))
		}
	}
	return lines
}
