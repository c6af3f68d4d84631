package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// foldedLines is the number of lines that are shown of a long prompt.
const foldedLines = 10

func (p painter) renderPrompt(u *session.User, open bool) (lines []string) {
	if line, report, ok := describe.FormatTaskReport(u); ok {
		return p.renderReport(line, report, open)
	}
	text, more := u.DisplayText(), 0
	if !open {
		text, more = p.foldText(text)
	}
	for _, l := range p.wrapPlain("> ", "  ", text) {
		lines = append(lines, p.theme.Accent.Render(l))
	}
	if more > 0 {
		about := "  … " + terminal.FormatPlural(more, "more line") + " (alt+enter opens)"
		lines = append(lines, p.theme.Muted.Render(ansi.Truncate(about, p.width, "…")))
	}
	for _, f := range u.Files {
		lines = append(lines, p.theme.Muted.Render(ansi.Truncate("  "+describe.FileLabel(f), p.width, "…")))
	}
	return lines
}

// renderReport renders what a subagent in the background has reported: a line, and the report once it is opened.
func (p painter) renderReport(line, report string, open bool) (lines []string) {
	lines = append(lines, p.theme.Muted.Render(ansi.Truncate(terminal.ReplaceControls(line), max(p.width, 1), "…")))
	if !open {
		return lines
	}
	for _, l := range p.wrapPlain("  ", "  ", report) {
		lines = append(lines, p.theme.Muted.Render(l))
	}
	return lines
}

// foldText returns the beginning of a text that has about foldedLines lines at the width, and how many lines of the
// text are not whole in it. A text that is hardly longer is returned whole. The work does not grow with the text.
func (p painter) foldText(text string) (head string, more int) {
	text = strings.TrimSpace(text)
	width := max(p.width-2, 2)
	rows, at := 0, 0
	for line := range strings.Lines(text) {
		room := (foldedLines - rows) * width
		if len(line) > room { // in cells it may be shorter, and still be cut
			runes := []rune(line[:min(len(line), utf8.UTFMax*room)])
			if len(runes) > room {
				at += len(string(runes[:room]))
				break
			}
		}
		rows += max((ansi.StringWidth(line)+width-1)/width, 1)
		at += len(line)
		if rows >= foldedLines {
			break
		}
	}
	if more = strings.Count(text[at:], "\n") + 1; at == len(text) || more == 1 && len(text)-at <= width {
		return text, 0
	}
	return text[:at], more
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
	head := "── the model reads a summary of this (alt+enter opens it) ──"
	if open {
		head = "── the model reads this summary of what is above ──"
	}
	lines := []string{p.theme.Muted.Render(ansi.Truncate(head, p.width, "…"))}
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
