package describe

import (
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// taskReport is the form in which the model gets the report of a subagent that worked in the background.
var taskReport = regexp.MustCompile(
	`(?s)^<task id="([^"]+)" state="(\w+)">\n<task_\w+>\n(.*)\n</task_\w+>\n</task>\s*$`,
)

// PromptLine returns the beginning of a prompt, or a line about the report of a subagent that it is.
func PromptLine(u *session.User, width int) string {
	if line, _, ok := FormatTaskReport(u); ok {
		return terminal.FirstLine(line, width)
	}
	return terminal.FirstLine(u.DisplayText(), width)
}

// InputLine is PromptLine of a prompt that waits.
func InputLine(in *session.Input, width int) string {
	if line, _, ok := formatReport(in.Prompt.Text, in.Prompt.Parts); ok {
		return terminal.FirstLine(line, width)
	}
	return terminal.FirstLine(in.Text(), width)
}

// IsTaskReport reports whether a prompt is the report of a subagent.
func IsTaskReport(u *session.User) bool {
	_, _, ok := FormatTaskReport(u)
	return ok
}

// FormatTaskReport returns a line about the report of a subagent that a prompt of the session is, and the report. It
// reports false for prompts of a person.
func FormatTaskReport(u *session.User) (line, report string, ok bool) {
	return formatReport(u.Text, u.Parts)
}

// ReadTaskReport is FormatTaskReport with a heading in place of the line: who reports.
func ReadTaskReport(u *session.User) (heading, report string, ok bool) {
	line, report, ok := FormatTaskReport(u)
	if heading, _, _ = strings.Cut(line, ": "); ok {
		heading = strings.ToUpper(heading[:1]) + heading[1:]
	}
	return heading, report, ok
}

// FormatTaskOutput returns the report in the output of a call of task, other outputs as they are.
func FormatTaskOutput(output string) string {
	if m := taskReport.FindStringSubmatch(output); m != nil {
		return strings.TrimSpace(m[3])
	}
	return output
}

func formatReport(text string, parts []session.PromptPart) (line, report string, ok bool) {
	if len(parts) != 1 || !strings.Contains(string(parts[0].Extra), `"synthetic":true`) {
		return "", "", false
	}
	m := taskReport.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	verb := " reports: "
	if m[2] == "error" {
		verb = " failed: "
	}
	report = strings.TrimSpace(m[3])
	return "the subagent " + m[1] + verb + terminal.FirstLine(report, 300), report, true
}
