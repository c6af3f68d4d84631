package describe

import (
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FormatFinding returns the lines about a result of a check: behind its mark what was looked at and found, and below it
// what to do.
func FormatFinding(f finding.Finding, mark string) []string {
	line := mark + " " + terminal.FirstLine(f.What, 100)
	if f.Detail != "" {
		line += ": " + terminal.FirstLine(f.Detail, 800)
	}
	if f.Fix == "" {
		return []string{line}
	}
	return []string{line, "    " + terminal.FirstLine(f.Fix, 400)}
}

// FindingMark returns the mark of a level and the style in which terminals with colours show it.
func FindingMark(l finding.Level, m terminal.Marks) (mark, style string) {
	switch l {
	case finding.OK:
		return m.Good, terminal.Green
	case finding.Warning:
		return "!", terminal.Yellow
	case finding.Error:
		return m.Bad, terminal.Red
	case finding.Note:
	}
	return m.Dot, ""
}
