package lsp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxShown   = 20 // errors of a file in a text
	maxOthers  = 5  // files that a change broke, in a text
	maxKept    = 100
	maxDecoded = 2000
	maxText    = 1000 // runes of a message
	maxReason  = 300
)

// severityError is the severity of an error; the others are 2 (warning), 3 (information) and 4 (hint).
const severityError = 1

// Diagnostic is what a server says about a part of a file. Columns are UTF-16.
type Diagnostic struct {
	Range    Range          `json:"range"`
	Severity int            `json:"severity"`
	Code     jsontext.Value `json:"code,omitzero"` // a number or a string
	Source   string         `json:"source,omitzero"`
	Message  string         `json:"message"`
	Tags     []int          `json:"tags,omitempty"`
}

// IsError reports whether it is an error. A server that names no severity means an error.
func (d Diagnostic) IsError() bool { return d.Severity == severityError }

// identity is equal for the same diagnostic before and after a change elsewhere.
func (d Diagnostic) identity() string { return string(d.Code) + "\x00" + d.Source + "\x00" + d.Message }

// String returns OpenCode's line for a diagnostic.
func (d Diagnostic) String() string {
	name := "ERROR"
	if d.Severity >= 2 && d.Severity <= 4 {
		name = []string{"WARN", "INFO", "HINT"}[d.Severity-2]
	}
	return fmt.Sprintf("%s [%d:%d] %s", name, d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message)
}

// decodeDiagnostics returns the valid ones of a list, errors first, bounded.
func decodeDiagnostics(list []jsontext.Value) []Diagnostic {
	out := make([]Diagnostic, 0, min(len(list), maxKept))
	for _, value := range list[:min(len(list), maxDecoded)] {
		var d Diagnostic
		if json.Unmarshal(value, &d, lenient()) != nil {
			continue
		}
		if d.Severity < severityError || d.Severity > 4 {
			d.Severity = severityError
		}
		if k := d.Code.Kind(); k != '"' && k != '0' || len(d.Code) > 200 {
			d.Code = nil
		}
		d.Range = Range{d.Range.Start.clamp(), d.Range.End.clamp()}
		d.Message, d.Source = cleanText(d.Message, maxText), cleanText(d.Source, 100)
		d.Tags = d.Tags[:min(len(d.Tags), 4)]
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line))
	})
	return out[:min(len(out), maxKept):min(len(out), maxKept)]
}

// cleanText returns at most n runes of a text, without control characters other than line ends and tabs.
func cleanText(text string, n int) string {
	text, cut := workpath.CutRunes(terminal.ReplaceControls(strings.ToValidUTF8(text, "\uFFFD")), n)
	if cut {
		text += "…"
	}
	return text
}

// mergeDiagnostics returns both lists without duplicates.
func mergeDiagnostics(a, b []Diagnostic) []Diagnostic {
	out := slices.Clip(a)
	for _, d := range b {
		same := func(o Diagnostic) bool {
			return o.Range == d.Range && o.Severity == d.Severity && o.identity() == d.identity()
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, d)
		}
	}
	return out
}

// selectErrors returns the errors.
func selectErrors(list []Diagnostic) (out []Diagnostic) {
	for _, d := range list {
		if d.IsError() {
			out = append(out, d)
		}
	}
	return out
}

// Report is what servers say after a change of files.
type Report struct {
	// Files has the diagnostics of the changed files and the new errors of the others, by absolute path: the member
	// diagnostics of OpenCode's metadata.
	Files   map[string][]Diagnostic
	Changed []string // the changed files that have errors, in the order of the call
	Broken  []string // other files with errors that they did not have before the change, sorted
	// Unanswered are the servers whose diagnostics did not come within the bound for the first time in a row, by name.
	Unanswered []string
	Problems   []string // why servers do not run; each is reported once
}

// Format returns the text that OpenCode appends to the result of a tool, and what keeps servers from answering; "" for
// an empty report. If several files were changed, name returns the name of each, as apply_patch needs it; nil means
// "this file".
func (r Report) Format(name func(path string) string) string {
	var b strings.Builder
	for _, path := range r.Changed {
		subject := "this file"
		if name != nil {
			subject = name(path)
		}
		fmt.Fprintf(&b, "\n\nLSP errors detected in %s, please fix:\n%s", subject, formatFile(path, r.Files[path]))
	}
	for _, path := range r.Broken[:min(len(r.Broken), maxOthers)] {
		fmt.Fprintf(&b, "\n\nLSP errors detected in other files:\n%s", formatFile(path, r.Files[path]))
	}
	for _, note := range r.ListNotes() {
		b.WriteString("\n\n" + note)
	}
	return b.String()
}

// ListNotes returns what kept servers from answering, for people.
func (r Report) ListNotes() (notes []string) {
	for _, name := range r.Unanswered {
		notes = append(notes, "language server "+name+" has not answered yet: its errors are not shown")
	}
	return append(notes, r.Problems...)
}

// formatFile returns OpenCode's block for the errors of a file.
func formatFile(path string, list []Diagnostic) string {
	list = selectErrors(list)
	var b strings.Builder
	fmt.Fprintf(&b, "<diagnostics file=\"%s\">\n", path)
	for i, d := range list[:min(len(list), maxShown)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.String())
	}
	if more := len(list) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\n... and %d more", more)
	}
	b.WriteString("\n</diagnostics>")
	return b.String()
}
