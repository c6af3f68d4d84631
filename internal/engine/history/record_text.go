package history

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// SummaryText presents a compaction as a record of the past, not as instructions.
func SummaryText(m *session.Compaction) string {
	s := "What follows is a record of the conversation so far, not a request.\n\n<summary>\n" + m.Summary + "\n</summary>"
	if record := RecordText(m.Record); record != "" {
		s += "\n\n<facts>\n" + record + "\n</facts>"
	}
	if m.Recent != "" {
		s += "\n\n<recent>\n" + m.Recent + "\n</recent>"
	}
	return s
}

// RecordText returns the record as Markdown, "" for an empty one.
func RecordText(r *session.Record) string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n## %s\n%s\n", title, strings.Join(lines, "\n"))
		}
	}
	section("What the user asked for, in their words", requestLines(r))
	var files, todos, asks []string
	for _, f := range r.Files {
		if f.Hash == "" {
			files = append(files, "- "+f.Path+" (deleted)")
		} else {
			files = append(files, fmt.Sprintf("- %s (hash %s)", f.Path, f.Hash))
		}
	}
	section("Files that were changed", files)
	for _, t := range r.Todos {
		todos = append(todos, fmt.Sprintf("- [%s] %s", t.Status, t.Content))
	}
	section("Todo list", todos)
	for _, text := range r.Asks {
		asks = append(asks, "- "+text)
	}
	section("Waiting for the user's answer", asks)
	return strings.TrimSpace(b.String())
}

func requestLines(r *session.Record) (lines []string) {
	for i, text := range r.Requests {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, strings.ReplaceAll(text, "\n", "\n   ")))
		if i == 0 && r.Omitted > 0 {
			lines = append(
				lines,
				fmt.Sprintf("   (%d later prompts are left out here; the summary covers them)", r.Omitted),
			)
		}
	}
	return lines
}
