package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxGuideTurns bounds the turns of one task; the last answers with what is known.
const maxGuideTurns = 12

// task is what the Guide sees of a request: the last user message and what has been done about it since.
type task struct {
	text    string
	root    string // the working directory as the system text or a tool names it; may be empty
	offered map[string]bool
	turns   int // answers given since the user spoke
	done    []*exchange

	pending []Call // what the rules need next
	notes   []note // what was read, for the list at the end
}

// exchange is one call and its outcome.
type exchange struct {
	name   string
	args   map[string]string
	text   string
	failed bool
	media  bool   // the result holds an image or a document
	absent string // why the call was not made at all
	open   string // the id of a call that has no result yet
	used   bool
}

var workingDirectory = lazily(`(?i)working directory:?\s*(/\S+)`)

func taskOf(req *llm.Request) *task {
	t := &task{offered: map[string]bool{}}
	if req.Choice.Mode != llm.ChooseNone {
		for _, tool := range req.Tools {
			t.offered[tool.Name] = true
		}
	}
	for _, s := range req.System {
		if m := workingDirectory().FindStringSubmatch(s); m != nil {
			t.root = strings.TrimRight(m[1], "/.,")
		}
	}
	for _, m := range req.Messages {
		if m.Role == llm.RoleUser {
			t.text, t.turns, t.done = firstText(m.Parts), 0, nil
		}
		t.take(m)
	}
	return t
}

// firstText returns what the user wrote; texts after it belong to attachments.
func firstText(parts []llm.Part) string {
	for _, part := range parts {
		if text, ok := part.(llm.Text); ok && strings.TrimSpace(text.Text) != "" {
			return strings.TrimSpace(text.Text)
		}
	}
	return ""
}

func (t *task) take(m llm.Message) {
	if m.Role == llm.RoleAssistant {
		t.turns++
	}
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.ToolCall:
			t.done = append(t.done, &exchange{name: part.Name, args: stringsOf(part.Input), failed: true, open: part.ID})
		case llm.ToolResult:
			t.settled(part)
		}
	}
}

// settled gives the newest open call of the result's id its outcome.
func (t *task) settled(r llm.ToolResult) {
	for i := len(t.done) - 1; i >= 0; i-- {
		e := t.done[i]
		if e.open != r.ID {
			continue
		}
		e.text, e.failed, e.open = textOf(r.Content), r.IsError, ""
		for _, part := range r.Content {
			if _, ok := part.(llm.Media); ok {
				e.media = true
			}
		}
		return
	}
}

// stringsOf returns the members of a JSON object as text: strings unquoted, the rest as it is.
func stringsOf(input jsontext.Value) map[string]string {
	var members map[string]jsontext.Value
	_ = json.Unmarshal(input, &members)
	out := map[string]string{}
	for key, value := range members {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		out[key] = s
	}
	return out
}

// do returns the outcome of a call, if it has one; else ready is false and the call is pending. Each outcome is
// handed out once, so that the same call can be made twice in a task. A call that cannot be made is ready and
// absent. args are names and values; ints are numbers, bools booleans.
func (t *task) do(name string, args ...any) (e *exchange, ready bool) {
	input, want := arguments(args)
	for _, e := range t.done {
		if !e.used && e.name == name && sameArguments(e.args, want) {
			e.used = true
			if e.open != "" {
				e.text = "the call has no result"
			}
			return e, true
		}
	}
	switch {
	case !t.offered[name]:
		return &exchange{failed: true, absent: fmt.Sprintf("this session does not offer me the tool `%s`", name)}, true
	case t.turns >= maxGuideTurns-1:
		return &exchange{failed: true, absent: "I have used up the turns that I allow myself for one task"}, true
	}
	t.pending = append(t.pending, Call{Name: name, Arguments: input})
	return nil, false
}

func arguments(args []any) (jsontext.Value, map[string]string) {
	var out strings.Builder
	enc := jsontext.NewEncoder(&out)
	want := map[string]string{}
	_ = enc.WriteToken(jsontext.BeginObject)
	for i := 0; i+1 < len(args); i += 2 {
		name, _ := args[i].(string)
		_ = enc.WriteToken(jsontext.String(name))
		switch value := args[i+1].(type) {
		case int:
			_ = enc.WriteToken(jsontext.Int(int64(value)))
			want[name] = strconv.Itoa(value)
		case bool:
			_ = enc.WriteToken(jsontext.Bool(value))
			want[name] = strconv.FormatBool(value)
		case string:
			value = strings.ToValidUTF8(value, "\uFFFD")
			_ = enc.WriteToken(jsontext.String(value))
			want[name] = value
		}
	}
	_ = enc.WriteToken(jsontext.EndObject)
	return jsontext.Value(strings.TrimSpace(out.String())), want
}

func sameArguments(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range b {
		if a[key] != value {
			return false
		}
	}
	return true
}

var (
	refusal = lazily(`(?i)\b(reject|declin|den(y|ied)|dismiss|permission|not (be )?(permitted|allowed))`)
	missing = lazily(`(?i)(not found|no such file|does not exist|doesn't exist|cannot find|did you mean)`)
)

const notPermitted = "it was not permitted"

// trouble says in a few words why e failed.
func (e *exchange) trouble() string {
	switch {
	case e.absent != "":
		return e.absent
	case e.text == "":
		return "the tool failed without a message"
	case refusal().MatchString(e.text):
		return notPermitted + "; the tool said: " + quote(e.text)
	default:
		return "the tool said: " + quote(e.text)
	}
}

// quote shows the beginning of a tool's message on one line.
func quote(s string) string {
	return "“" + shorten(strings.Join(strings.Fields(s), " "), 240) + "”"
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n])) + "…"
	}
	return s
}

// note is a line of the list of files read.
type note struct {
	path        string
	first, last int
	whole       bool
	trouble     string
}

func (t *task) filesRead() string {
	var b strings.Builder
	b.WriteString("Files read:\n")
	if len(t.notes) == 0 {
		b.WriteString("- none\n")
	}
	for _, n := range t.notes {
		switch {
		case n.trouble != "":
			fmt.Fprintf(&b, "- %s: could not be read: %s\n", n.path, n.trouble)
		case n.last == 0:
			fmt.Fprintf(&b, "- %s (empty)\n", n.path)
		case n.whole:
			fmt.Fprintf(&b, "- %s (lines %d-%d, to the end)\n", n.path, n.first, n.last)
		default:
			fmt.Fprintf(&b, "- %s (lines %d-%d; there is more)\n", n.path, n.first, n.last)
		}
	}
	return b.String()
}

// rel shows a path relative to the working directory, if it lies in there.
func (t *task) rel(path string) string {
	if t.root != "" {
		if rest, ok := strings.CutPrefix(path, t.root+"/"); ok {
			return rest
		}
		if path == t.root {
			return "."
		}
	}
	return strings.TrimPrefix(path, "./")
}
