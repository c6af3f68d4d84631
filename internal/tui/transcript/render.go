package transcript

import "github.com/cairn-dev/cairn/internal/session"

// renderSection returns the lines of a section; every section but a call ends with an empty line.
func (p painter) renderSection(b *section, open bool) (lines []string) {
	if b.afterCall {
		lines = append(lines, "")
	}
	switch x := b.item.(type) {
	case *session.Tool:
		return append(lines, p.renderTool(x, open)...)
	case *session.Shell:
		return append(lines, p.renderShell(x, open)...)
	case *session.User:
		lines = append(lines, p.renderPrompt(x, open)...)
	case *session.Text:
		lines = append(lines, p.renderText(b)...)
	case *session.Reasoning:
		lines = append(lines, p.renderReasoning(b, open)...)
	case *session.Compaction:
		lines = append(lines, p.renderCompaction(x, open)...)
	case note:
		lines = append(lines, p.renderNote(x)...)
	default:
		return lines
	}
	return append(lines, "")
}
