package transcript

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// painter renders sections with a width and at a time.
type painter struct {
	theme style.Theme
	width int
	now   time.Time
	tasks map[session.ID]*taskWork // what subagents have done so far
	// asking are the calls that wait for a person.
	asking []session.PartID
}

// wrapPlain returns the text, without control characters, as lines with a prefix of the first one and one of the
// others. The prefixes have the same width.
func (p painter) wrapPlain(first, rest, text string) []string {
	text = strings.ReplaceAll(strings.TrimSpace(terminal.ReplaceControls(text)), "\t", "    ")
	prefix := first
	lines := strings.Split(ansi.Wrap(text, max(p.width-ansi.StringWidth(first), 2), ""), "\n")
	for i, l := range lines {
		lines[i] = prefix + l
		prefix = rest
	}
	return lines
}

// styleLines returns the lines of a text without control characters, each cut at the width below a call.
func (p painter) styleLines(st lipgloss.Style, text string) (lines []string) {
	return p.layLines(st, text, func(line string, width int) string { return ansi.Truncate(line, width, "…") })
}

// foldLines returns them wrapped at that width, so that all of the text can be read.
func (p painter) foldLines(st lipgloss.Style, text string) (lines []string) {
	return p.layLines(st, text, func(line string, width int) string { return ansi.Wrap(line, width, "") })
}

func (p painter) layLines(st lipgloss.Style, text string, fit func(line string, width int) string) (lines []string) {
	text = strings.TrimRight(strings.ReplaceAll(terminal.ReplaceControls(terminal.CleanOutput(text)), "\t", "    "), "\n ")
	if text == "" {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		for part := range strings.SplitSeq(fit(line, max(p.width-2, 1)), "\n") {
			lines = append(lines, st.Render(part))
		}
	}
	return lines
}

// cutLines indents lines, at most limit of them, and says how many follow.
func (p painter) cutLines(lines []string, limit int) []string {
	out := make([]string, 0, min(len(lines), limit)+1)
	for i, l := range lines {
		if i == limit {
			more := fmt.Sprintf("  … %d more lines", len(lines)-limit)
			return append(out, p.theme.Muted.Render(ansi.Truncate(more, p.width, "…")))
		}
		out = append(out, "  "+l)
	}
	return out
}

// describeTook returns how long a call took, "" below a second.
func (p painter) describeTook(took time.Duration) string {
	if took < time.Second {
		return ""
	}
	return fmt.Sprintf(" (%s)", took.Round(time.Second))
}
