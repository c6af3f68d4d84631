package transcript

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/markdown"
)

func (p painter) renderPrompt(u *session.User) (lines []string) {
	for _, l := range p.wrapPlain("> ", "  ", u.DisplayText()) {
		lines = append(lines, p.theme.Accent.Render(l))
	}
	for _, f := range u.Files {
		about := cmp.Or(f.Name, f.URI)
		if strings.HasPrefix(about, "data:") {
			about = "pasted"
		}
		about = fmt.Sprintf("  %s %s", fileKind(f.Mime), term.FirstLine(about, 200))
		lines = append(lines, p.theme.Muted.Render(ansi.Truncate(about, p.width, "…")))
	}
	return lines
}

func fileKind(mime string) string {
	kind, _, _ := strings.Cut(mime, "/")
	if kind == "image" {
		return "image"
	}
	return "file"
}

// renderText renders the text of an answer. Of a live text, only what further text may change is rendered again.
func (p painter) renderText(b *section) []string {
	render := func(text string) []string { return markdown.Render(p.theme, term.ReplaceControls(text), p.width) }
	if b.live == nil {
		return render(strings.TrimSpace(b.text()))
	}
	rest := string(b.live[b.stable.size:])
	if n := markdown.SplitStable(rest); n > 0 {
		b.stable = stableText{b.stable.size + n, append(b.stable.lines, render(rest[:n])...)}
		rest = rest[n:]
	}
	lines := b.stable.lines[:len(b.stable.lines):len(b.stable.lines)]
	return append(lines, render(strings.TrimRight(rest, " \n"))...)
}

func (p painter) renderReasoning(b *section, open bool) (lines []string) {
	text := strings.TrimSpace(b.text())
	if !open {
		head := "thought: "
		if !b.isSettled() {
			head = "thinking: "
			text = text[strings.LastIndexByte(text, '\n')+1:]
		}
		return []string{p.theme.Muted.Render(ansi.Truncate(head+term.FirstLine(text, 300), p.width, "…"))}
	}
	for _, l := range p.wrapPlain("  ", "  ", text) {
		lines = append(lines, p.theme.Muted.Render(l))
	}
	return append([]string{p.theme.Muted.Render("thought:")}, lines...)
}

func (p painter) renderCompaction(c *session.Compaction, open bool) []string {
	lines := []string{p.theme.Muted.Render(ansi.Truncate("── the model reads a summary of this ──", p.width, "…"))}
	if open {
		lines = append(lines, markdown.Render(p.theme, strings.TrimSpace(term.ReplaceControls(c.Summary)), p.width)...)
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
