package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/describe/patch"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// CallCommand is a whole command line of a call.
type CallCommand struct {
	Part session.PartID
	Line string
}

// CommandOf returns the command that the ask's call would run; ok is false if the ask names none.
func CommandOf(a session.PendingAsk) (c CallCommand, ok bool) {
	var m struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(a.Metadata, &m, jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true)) // other metadata has no command
	if a.Source == nil || m.Command == "" {
		return CallCommand{Line: m.Command}, false
	}
	return CallCommand{a.Source.PartID, m.Command}, true
}

// IsBeforeCommand reports whether the ask is for a file of a command, which is shown whole and asked for next.
func IsBeforeCommand(a session.PendingAsk) bool {
	_, ok := CommandOf(a)
	return ok && a.Action != permission.Shell
}

// AskTitle says what is asked for: the action and on what, each resource on its own line if there are several. The
// text is shown whole, because it is what one agrees to.
func AskTitle(a session.PendingAsk) string {
	what := make([]string, len(a.Resources))
	for i, r := range a.Resources {
		what[i] = indentRest(r)
	}
	title := terminal.ReplaceControls(a.Action)
	if a.Agent != "" {
		title = terminal.ReplaceControls(a.Agent) + " asks for " + title
	}
	if c, ok := readServerCall(a.Metadata); ok { // its resource is a fingerprint of the tool
		return title + c.describe()
	}
	switch len(what) {
	case 0:
		return title
	case 1:
		return title + ": " + what[0] + askSize(a)
	default:
		return title + askSize(a) + ":\n    " + strings.Join(what, "\n    ")
	}
}

// askSize says how many lines the change that is asked for adds and removes, "" if nothing is to be changed.
func askSize(a session.PendingAsk) string {
	d := readAskDetails(a.Metadata)
	switch added, removed := patch.CountLines(d.diff); {
	case d.added+d.removed > 0: // the diff is cut
		return formatSize(d.added, d.removed)
	case added+removed > 0:
		return formatSize(added, removed)
	case d.diff != "" && len(a.Resources) == 1 && patch.IsEmpty(d.diff): // the same text, or an empty new file
		return ", changes no line"
	}
	return ""
}

// AskDetails are the lines below what is asked for: those of AskCommand, and its preview.
func AskDetails(a session.PendingAsk) []string {
	return append(AskCommand(a), askPreview(a.Metadata)...)
}

// indentRest returns the text without control characters, its lines behind the first one indented.
func indentRest(text string) string {
	return strings.ReplaceAll(terminal.ReplaceControls(text), "\n", "\n    ")
}

// AskCommand are the lines of the command that what is asked for stands in, nil if it is the command itself, or the
// arguments of a tool of an MCP server.
func AskCommand(a session.PendingAsk) []string {
	if c, ok := readServerCall(a.Metadata); ok {
		return c.listArguments()
	}
	m, _ := CommandOf(a)
	if m.Line == "" || len(a.Resources) == 1 && a.Resources[0] == m.Line {
		return nil
	}
	return strings.Split("in: "+indentRest(m.Line), "\n")
}

func ReplyChoices(a session.PendingAsk) string {
	s := "y: once"
	if IsBeforeCommand(a) {
		s += " for this, with the command"
	}
	if len(a.Save) > 0 {
		s += ", s: " + DescribeLifetime(session.LifetimeSession) + ", a: " + DescribeLifetime(session.LifetimeProject) +
			"; s and a are for " + terminal.ReplaceControls(DescribeSaved(a, a.Save))
	}
	return s + ", n: reject and stop, n REASON: reject and continue"
}

// DescribeSaved says what an approval of the patterns covers, and for commands how, and how it is taken back.
func DescribeSaved(a session.PendingAsk, patterns []string) string {
	if c, ok := readServerCall(a.Metadata); ok && slices.Equal(patterns, a.Save) {
		return a.Action + " with any arguments, until " + c.Server + " describes it differently"
	}
	text := a.Action + " " + strings.Join(patterns, ", ")
	if a.Action == permission.Shell {
		text += " (plain commands, in the sandbox; cairn permission revoke takes it back)"
	}
	return text
}

// DescribeLifetime says how long an approval holds.
func DescribeLifetime(l session.Lifetime) string {
	switch l {
	case session.LifetimeSession:
		return "always in this session"
	case session.LifetimeProcess:
		return "always until cairn restarts"
	default:
		return "always in this project until revoked"
	}
}

// maxPreviewLines bounds what is shown of a diff or of arguments.
const maxPreviewLines = 60

// AskDiff returns the patch of the change that is asked for, without control characters; "" without one.
func AskDiff(a session.PendingAsk) string {
	return terminal.ReplaceControls(readAskDetails(a.Metadata).diff)
}

// askDetails are the details that an ask carries.
type askDetails struct {
	diff         string
	limit, spent jsontext.Value // nil unless a budget asks

	added, removed int // lines, if the diff is cut
}

func readAskDetails(metadata jsontext.Value) (d askDetails) {
	var m map[string]jsontext.Value
	if len(metadata) == 0 ||
		json.Unmarshal(metadata, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return askDetails{}
	}
	d.limit, d.spent = m["limit"], m["spent"]
	if json.Unmarshal(m["diff"], &d.diff) != nil {
		d.diff = ""
	}
	if json.Unmarshal(m["additions"], &d.added) != nil || json.Unmarshal(m["deletions"], &d.removed) != nil {
		d.added, d.removed = 0, 0
	}
	return d
}

// askPreview is the diff that an ask carries, else its other details, as harmless lines.
func askPreview(metadata jsontext.Value) []string {
	d := readAskDetails(metadata)
	text := d.diff
	if text != "" && patch.IsEmpty(text) {
		return nil
	}
	if text == "" {
		if d.limit == nil || d.spent == nil {
			return nil
		}
		text = "spent " + string(d.spent) + " of " + string(d.limit) + "; yes allows as much again"
	}
	lines := strings.Split(strings.TrimRight(terminal.ReplaceControls(text), "\n"), "\n")
	return cutPreview(slices.DeleteFunc(
		lines,
		func(l string) bool { return strings.HasPrefix(l, "Index: ") || strings.HasPrefix(l, "=====") },
	))
}

// cutPreview returns the first lines of a preview, and a line that counts the others.
func cutPreview(lines []string) []string {
	if len(lines) > maxPreviewLines {
		more := len(lines) - maxPreviewLines
		lines = append(lines[:maxPreviewLines], "… and "+terminal.FormatCount(int64(more))+" lines more")
	}
	return lines
}

func AskSummary(a session.PendingAsk) string {
	if a.IsQuestion() {
		return terminal.FirstLine(a.Questions[0].Question, 200)
	}
	if c, ok := readServerCall(a.Metadata); ok {
		return terminal.FirstLine(a.Action+" "+string(c.Input), 200)
	}
	return terminal.FirstLine(a.Action+" "+strings.Join(a.Resources, ", "), 200)
}

// DescribePending says what waits, and how to answer it.
func DescribePending(a session.PendingAsk) string {
	if a.IsQuestion() {
		return fmt.Sprintf("an answer: %s; answer with: cairn question answer %s ANSWER", AskSummary(a), a.ID)
	}
	return fmt.Sprintf(
		"a permission: %s; answer with: cairn permission reply %s once|always|reject",
		AskSummary(a),
		a.ID,
	)
}

func OptionLines(s session.Question) []string {
	lines := make([]string, len(s.Options))
	for i, o := range s.Options {
		lines[i] = terminal.FirstLine(o.Label, 100)
		if o.Description != "" {
			lines[i] += ": " + terminal.FirstLine(o.Description, 200)
		}
	}
	return lines
}

func QuestionChoices(s session.Question) string {
	var ways []string
	switch {
	case len(s.Options) > 0 && s.Multiple:
		ways = append(ways, "numbers")
	case len(s.Options) > 0:
		ways = append(ways, "a number")
	}
	if s.AllowsCustom() {
		ways = append(ways, "your own words")
	}
	return strings.Join(ways, " or ") + "; Enter: no answer; !: dismiss and stop"
}
