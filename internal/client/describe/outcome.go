package describe

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe/patch"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// TailLines is the number of the last lines of a command's output that are shown.
const TailLines = 8

// Outcome is what is shown of a call that has a result.
type Outcome struct {
	Failure string   // why the command of the call failed all the same; "" if it did not
	Counts  string   // follows the description of the call: ", 42 lines" or " +3 -1"; "" without counts
	Lines   []string // below the call, without control characters: todos, answers, notes, the end of a command's output
}

// DescribeOutcome describes the result of a call by its structured form. A result of another tool, or of another form,
// has an empty outcome.
func DescribeOutcome(tool string, input, structured jsontext.Value) (o Outcome) {
	switch tool {
	case "bash":
		return describeCommand(structured)
	case "todowrite":
		o.Lines = callTodos(input)
	case "question":
		o.Lines = describeAnswers(input, structured)
	case "read":
		o.Counts = countRead(structured)
	case "edit", "write", "apply_patch":
		o.Counts, o.Lines = countChanges(structured), listNotes(structured)
	case "grep":
		o.Counts = countMatches(structured)
	case "glob":
		o.Counts = countEntries(structured, "file")
	case "list":
		o.Counts = countEntries(structured, "entry")
	case "webfetch":
		var r struct {
			Bytes int64 `json:"bytes"`
		}
		if parse(structured, &r) && r.Bytes > 0 {
			o.Counts = ", " + terminal.FormatCount(r.Bytes) + " bytes"
		}
	}
	return o
}

// ReadDiff returns the patch of what a call changed in files, without control characters; "" without one.
func ReadDiff(structured jsontext.Value) string {
	var r struct {
		Diff string `json:"diff"`
	}
	parse(structured, &r) // other tools have other members
	return terminal.ReplaceControls(r.Diff)
}

// parse reads a structured result, and reports whether it has the form.
func parse(structured jsontext.Value, into any) bool {
	return len(structured) > 0 && json.Unmarshal(structured, into, jsontext.AllowInvalidUTF8(true)) == nil
}

// describeCommand returns the outcome of a command: a call whose command ends with an exit code other than 0, or is
// stopped, settles with a result like any other.
func describeCommand(structured jsontext.Value) (o Outcome) {
	var r struct {
		Output  string         `json:"output"`
		Exit    jsontext.Value `json:"exit"`
		Timeout bool           `json:"timeout"`
	}
	if !parse(structured, &r) {
		return o
	}
	switch exit := string(r.Exit); {
	case exit == "" || exit == "0":
	case exit != "null":
		o.Failure = "exit code " + exit
	case r.Timeout:
		o.Failure = "stopped by its time limit"
	default:
		o.Failure = "stopped"
	}
	o.Lines = TailOutput(r.Output)
	return o
}

// TailOutput returns the last lines of an output without control characters, after a note of how many precede them.
func TailOutput(output string) []string {
	text := strings.TrimRight(terminal.CleanOutput(output), "\n ")
	if text == "" || text == "(no output)" { // the tool's text for the model
		return nil
	}
	all := strings.Split(text, "\n")
	lines := make([]string, 0, TailLines+1)
	if hidden := len(all) - TailLines; hidden > 0 {
		all = all[hidden:]
		lines = append(lines, fmt.Sprintf("… %s above", terminal.FormatPlural(hidden, "more line")))
	}
	for _, l := range all {
		lines = append(lines, terminal.FirstLine(strings.ReplaceAll(l, "\t", "    "), lineWidth))
	}
	return lines
}

// countRead counts what a read has read: all lines of the file, or which ones, or the entries of a directory.
func countRead(structured jsontext.Value) string {
	var r struct {
		Display struct {
			Type    string   `json:"type"`
			First   int      `json:"lineStart"`
			Last    int      `json:"lineEnd"`
			Total   int      `json:"totalLines"` // 0 is unknown
			Entries []string `json:"entries"`
		} `json:"display"`
	}
	if !parse(structured, &r) {
		return ""
	}
	d := r.Display
	switch {
	case d.Type == "directory":
		return ", " + formatCounted(len(d.Entries), "entry")
	case d.Type != "file":
		return ""
	case d.First <= 1 && d.Last == d.Total:
		return ", " + formatCounted(d.Last, "line")
	}
	of := ""
	if d.Total > 0 {
		of = " of " + terminal.FormatCount(int64(d.Total))
	}
	return fmt.Sprintf(", lines %d-%d%s", d.First, d.Last, of)
}

// countChanges counts the lines that a call added and removed; the diff of a large change is cut, and has no counts.
func countChanges(structured jsontext.Value) string {
	type counts struct {
		Added   int `json:"additions"`
		Removed int `json:"deletions"`
	}
	var r struct {
		Diff  string   `json:"diff"`
		File  *counts  `json:"filediff"`
		Files []counts `json:"files"`

		Exists *bool `json:"exists"` // the file was there before
	}
	if !parse(structured, &r) {
		return ""
	}
	all := r.Files
	switch {
	case r.File != nil:
		all = append(all, *r.File)
	case len(all) == 0 && r.Diff == "":
		return ""
	case len(all) == 0:
		added, removed := patch.CountLines(r.Diff)
		all = append(all, counts{added, removed})
	}
	sum := counts{}
	for _, c := range all {
		sum.Added, sum.Removed = sum.Added+c.Added, sum.Removed+c.Removed
	}
	// Without counted lines it may still have made, moved or replaced a file, one that is empty or binary.
	same := r.File != nil && r.Exists != nil && *r.Exists && patch.IsEmpty(r.Diff)
	if sum == (counts{}) && !same {
		return ""
	}
	return formatSize(sum.Added, sum.Removed)
}

// listNotes returns the notes about language servers of a change.
func listNotes(structured jsontext.Value) (lines []string) {
	var r struct {
		Notes []string `json:"notes"`
	}
	_ = parse(structured, &r)
	for _, note := range r.Notes[:min(len(r.Notes), TailLines)] {
		lines = append(lines, terminal.FirstLine(note, lineWidth))
	}
	return lines
}

// formatSize says how many lines a change adds and removes.
func formatSize(added, removed int) string {
	if added+removed == 0 {
		return ", changes nothing"
	}
	return fmt.Sprintf(" +%d -%d", added, removed)
}

func countMatches(structured jsontext.Value) string {
	var r struct {
		Matches   *int `json:"matches"`
		Truncated bool `json:"truncated"`
	}
	if !parse(structured, &r) || r.Matches == nil {
		return ""
	}
	return ", " + formatCounted(*r.Matches, "match") + describeCut(r.Truncated)
}

func countEntries(structured jsontext.Value, noun string) string {
	var r struct {
		Count     *int `json:"count"`
		Truncated bool `json:"truncated"`
	}
	if !parse(structured, &r) || r.Count == nil {
		return ""
	}
	return ", " + formatCounted(*r.Count, noun) + describeCut(r.Truncated)
}

// describeCut says that the model did not get everything.
func describeCut(truncated bool) string {
	if truncated {
		return ", cut"
	}
	return ""
}

// formatCounted returns the number with the noun in its plural form, also for match and entry.
func formatCounted(n int, noun string) string {
	if n != 1 {
		noun = map[string]string{"line": "lines", "file": "files", "match": "matches", "entry": "entries"}[noun]
	}
	return terminal.FormatCount(int64(n)) + " " + noun
}

// callTodos returns the lines of the todos that a call of the tool todowrite sets.
func callTodos(input jsontext.Value) []string {
	var in struct {
		Todos []session.Todo `json:"todos"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return FormatTodos(in.Todos)
}

// describeAnswers returns a line for each question with its answer; an unanswered question says so.
func describeAnswers(input, structured jsontext.Value) (lines []string) {
	var asked struct {
		Questions []session.Question `json:"questions"`
	}
	var r struct {
		Answers [][]string `json:"answers"`
	}
	if !parse(input, &asked) || !parse(structured, &r) || r.Answers == nil {
		return nil
	}
	for i, q := range asked.Questions {
		answer := "no answer"
		if i < len(r.Answers) && len(r.Answers[i]) > 0 {
			answer = strings.Join(r.Answers[i], ", ")
		}
		inLine := func(text string) string {
			return terminal.FirstLine(strings.Join(strings.Fields(text), " "), lineWidth)
		}
		lines = append(lines, inLine(q.Question)+" -> "+inLine(answer))
	}
	return lines
}
