package describe

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// ListExtensionNotes says what extensions changed of a call, a line for each change. A refusal is the failure of the
// call, which says it.
func ListExtensionNotes(t *session.Tool) (lines []string) {
	if x := t.Extensions; x != nil {
		by := strings.Join(x.By, ", ")
		if len(x.Input) > 0 {
			lines = append(lines, fmt.Sprintf("%s changed the input to %s", by, x.Input))
		}
		if x.Effect == session.Ask || x.Effect == session.Allow {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s decided: %s %s", by, x.Effect, x.Reason)))
		}
		if x.Context != "" {
			lines = append(lines, fmt.Sprintf("%s told the model: %s", by, x.Context))
		}
	}
	if r := t.Replaced; r != nil {
		lines = append(lines, fmt.Sprintf("%s changed the result", strings.Join(r.By, ", ")))
	}
	for i, l := range lines {
		lines[i] = terminal.FirstLine(l, maxExtensionNote)
	}
	return lines
}

// maxExtensionNote bounds the characters of a line.
const maxExtensionNote = 300

// FormatExtensions returns a note about the extensions that decided or changed something, "" for none.
func FormatExtensions(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " " + terminal.FirstLine("(by "+strings.Join(names, ", ")+")", maxExtensionNote)
}

// FormatSynthetic returns a text that the model got as from a user, and the extensions whose text it is.
func FormatSynthetic(m *session.Synthetic) string {
	var about struct {
		Extensions []string `json:"extensions"`
	}
	text := terminal.FirstLine(m.Text, 120)
	if json.Unmarshal(m.Metadata, &about) == nil && len(about.Extensions) > 0 {
		text = terminal.FirstLine(strings.Join(about.Extensions, ", "), 120) + " goes on with: " + text
	}
	return text
}
