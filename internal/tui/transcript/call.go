package transcript

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// The lines that are shown of a call that is not open, and of one that is.
const (
	diffLines = 12
	openLines = 2000
)

// renderTool returns the line of a call, and below it what is worth showing; all of its result if it is open.
func (p painter) renderTool(t *session.Tool, open bool) []string {
	// The mark and the color of the state. A call that succeeded may have had a command that failed.
	head, st := describe.DescribeCall(t.Name, t.State.Input), p.theme.Success
	mark, done := "✓ ", describe.Outcome{}
	switch {
	case t.State.Error != nil:
		mark, st = "✗ ", p.theme.Error
	case !t.State.Status.IsSettled():
		mark, st = "→ ", p.theme.Accent
	default:
		if done = describe.DescribeOutcome(t.Name, t.State.Input, t.State.Structured); done.Failure != "" {
			mark, st = "✗ ", p.theme.Error
		}
	}
	// The line: the call, its counts, how long it took, and how it failed.
	r, why := resultOf(t), done.Failure
	if why == "" && string(r.Exit) == "0" && open {
		why = "exit code 0"
	}
	about := done.Counts + p.describeTook(t.Time.Took(p.now))
	if !t.State.Status.IsSettled() && slices.Contains(p.asking, t.PartID) {
		about = " waits for you"
	}
	if why != "" {
		about += ", " + why
	}
	lines := []string{p.renderHead(st, mark, head, about)}
	// The whole command, if the line could not show it.
	if command := commandOf(t); open && (strings.Contains(command, "\n") || strings.Contains(lines[0], "…")) {
		lines = append(lines, p.cutLines(p.foldLines(p.theme.Text, command), openLines)...)
	}
	// Errors are shown always, results if they are open or worth it.
	if t.State.Error != nil {
		lines = append(lines, p.cutLines(p.foldLines(p.theme.Error, t.State.Error.Message), openLines)...)
	}
	return append(lines, p.renderDetails(t, r, done.Lines, open)...)
}

// renderDetails returns what is shown below the line of a call. about are the lines of its outcome.
func (p painter) renderDetails(t *session.Tool, r result, about []string, open bool) (lines []string) {
	lines = p.renderTask(t)
	for _, f := range t.State.Attachments {
		lines = append(lines, p.cutLines(p.styleLines(p.theme.Muted, describe.FileLabel(f)), 1)...)
	}
	switch {
	case r.Diff != "":
		limit := diffLines
		if open {
			limit = openLines
		}
		diff := diffview.Render(p.theme, terminal.ReplaceControls(r.Diff), max(p.width-2, 2), open)
		return append(lines, p.cutLines(diff, limit)...)
	case open && t.Name != "todowrite":
		return append(lines, p.cutLines(p.foldLines(p.theme.Muted, outputOf(t)), openLines)...)
	case t.Name == "question": // an answer must not be cut off
		return append(lines, p.cutLines(p.foldLines(p.theme.Text, strings.Join(about, "\n")), openLines)...)
	case t.State.Status == session.ToolRunning:
		about = describe.TailOutput(outputOf(t))
	}
	return append(lines, p.clipLines(p.theme.Muted, about)...)
}

// renderShell returns the lines of a command of the user: all of its output, or the last lines.
func (p painter) renderShell(x *session.Shell, open bool) []string {
	took := session.ToolTime{Created: x.Time.Created, Completed: x.Time.Completed}.Took(p.now)
	mark, st, about := "✓ ", p.theme.Success, p.describeTook(took)
	if x.Time.Completed == 0 {
		mark, st = "→ ", p.theme.Accent
	} else if why := describe.DescribeShellEnd(x.ShellEnd); why != "" {
		mark, st, about = "✗ ", p.theme.Error, about+", "+why
	}
	lines := []string{p.renderHead(st, mark, "! "+terminal.FirstLine(x.Command, 300), about)}
	if open {
		return append(lines, p.cutLines(p.foldLines(p.theme.Muted, x.Output), openLines)...)
	}
	return append(lines, p.clipLines(p.theme.Muted, describe.TailOutput(x.Output))...)
}

// renderHead returns the line of a call: of its text as much as fits beside the words about it.
func (p painter) renderHead(st lipgloss.Style, mark, text, about string) string {
	room := p.width - 2
	text = ansi.Truncate(strings.ReplaceAll(text, "\t", " "), max(room-ansi.StringWidth(about), room/2), "…")
	return st.Render(mark) + ansi.Truncate(text+about, max(room, 1), "…")
}

// clipLines indents lines without control characters and cuts each at the width.
func (p painter) clipLines(st lipgloss.Style, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "  " + st.Render(ansi.Truncate(l, max(p.width-2, 1), "…"))
	}
	return out
}
