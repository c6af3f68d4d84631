package transcript

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

func (p painter) renderPrompt(u *session.User) (lines []string) {
	for _, l := range p.wrapPlain("> ", "  ", u.DisplayText()) {
		lines = append(lines, p.theme.Accent.Render(l))
	}
	for _, f := range u.Files {
		lines = append(lines, p.theme.Muted.Render(ansi.Truncate("  "+describe.FileLabel(f), p.width, "…")))
	}
	return lines
}

// renderText renders the text of an answer. Of a live text, only the last line is rendered again.
func (p painter) renderText(b *section) []string {
	if b.live == nil {
		return markdown.Render(p.theme, terminal.ReplaceControls(strings.TrimSpace(b.text())), p.width)
	}
	rest := string(b.live[b.arrived.size:])
	if b.arrived.stream == nil {
		text := strings.TrimLeft(rest, "\n ")
		b.arrived = arrivedLines{len(rest) - len(text), markdown.NewLiveText(p.theme, p.width)}
		rest = text
	}
	n := strings.LastIndexByte(rest, '\n') + 1
	b.arrived.stream.AddLines(terminal.ReplaceControls(rest[:n]))
	b.arrived.size += n
	return b.arrived.stream.Render(terminal.ReplaceControls(rest[n:]))
}

func (p painter) renderReasoning(b *section, open bool) (lines []string) {
	text := strings.TrimSpace(b.text())
	if !open {
		head := "thought: "
		if !b.isSettled() {
			head = "thinking: "
			text = text[strings.LastIndexByte(text, '\n')+1:]
		}
		return []string{p.theme.Muted.Render(ansi.Truncate(head+terminal.FirstLine(text, 300), p.width, "…"))}
	}
	for _, l := range p.wrapPlain("  ", "  ", text) {
		lines = append(lines, p.theme.Muted.Render(l))
	}
	return append([]string{p.theme.Muted.Render("thought:")}, lines...)
}

func (p painter) renderCompaction(c *session.Compaction, open bool) []string {
	lines := []string{p.theme.Muted.Render(ansi.Truncate("── the model reads a summary of this ──", p.width, "…"))}
	if open {
		lines = append(lines, markdown.Render(p.theme, strings.TrimSpace(terminal.ReplaceControls(c.Summary)), p.width)...)
	}
	return lines
}

func (p painter) renderNote(n note) (lines []string) {
	st, mark := p.theme.Warning, "! "
	switch {
	case n.failed:
		st, mark = p.theme.Error, "✗ "
	case n.quiet:
		st, mark = p.theme.Muted, "· "
	}
	for _, l := range p.wrapPlain(mark, "  ", n.text) {
		lines = append(lines, st.Render(l))
	}
	return lines
}
