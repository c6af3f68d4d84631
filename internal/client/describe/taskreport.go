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

// FormatTaskReport returns a line about the report of a subagent that a prompt of the session is, and the report. It
// reports false for prompts of a person.
func FormatTaskReport(u *session.User) (line, report string, ok bool) {
	if len(u.Parts) != 1 || !strings.Contains(string(u.Parts[0].Extra), `"synthetic":true`) {
		return "", "", false
	}
	m := taskReport.FindStringSubmatch(u.Text)
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
