package history

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// SummaryText presents a compaction as a record of the past, not as instructions.
func SummaryText(m *session.Compaction) string {
	s := "What follows is a record of the conversation so far, not a request."
	for _, block := range []struct{ tag, text string }{
		{"summary", m.Summary}, {"facts", RecordText(m.Record)}, {"recent", m.Recent},
	} {
		if block.text != "" {
			s += "\n\n" + EncloseText(block.tag, block.text)
		}
	}
	return s
}

// EncloseText returns the text between tags. Only what would close them is escaped.
func EncloseText(tag, text string) string {
	return "<" + tag + ">\n" + strings.ReplaceAll(text, "</"+tag, "&lt;/"+tag) + "\n</" + tag + ">"
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
	// The sections in the order in which a reader needs them; empty ones are left out.
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
			lines = append(lines, fmt.Sprintf("   (%d later prompts are left out here; the summary covers them)", r.Omitted))
		}
	}
	return lines
}
