package guide

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxTurns bounds the turns of one task; the last one answers with what is known by then.
const maxTurns = 12

// task is the last user message and the calls made for it since.
type task struct {
	text  string
	root  string // the working directory; empty if the request does not name it
	tools map[string]bool
	turns int
	calls []*outcome

	pending []llm.ToolCall // the calls whose outcome the rules need next
	sources []file         // the files read, for the list at the end of the answer
}

// outcome is one call with its result. A call without a result counts as failed.
type outcome struct {
	id     string
	call   string // the tool's name and its arguments in canonical form
	text   string
	failed bool
	used   bool
}

func newTask(req *llm.Request) *task {
	t := &task{tools: map[string]bool{}}
	if req.Choice.Mode != llm.ChooseNone {
		for _, tool := range req.Tools {
			t.tools[tool.Name] = true
		}
	}
	for _, s := range req.System {
		if _, rest, ok := strings.Cut(s, "orking directory: "); ok {
			path, _, _ := strings.Cut(rest, "\n")
			t.root = strings.TrimRight(path, "/. ")
		}
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleUser:
			t.text, t.turns, t.calls = firstText(m.Parts), 0, nil
		case llm.RoleAssistant:
			t.turns++
		}
		t.addParts(m.Parts)
	}
	return t
}

// firstText returns what the user wrote; later texts of the message belong to attachments.
func firstText(parts []llm.Part) string {
	for part := range llm.PartsOf[llm.Text](parts) {
		if text := strings.TrimSpace(part.Text); text != "" {
			return text
		}
	}
	return ""
}

func (t *task) addParts(parts []llm.Part) {
	for _, part := range parts {
		switch part := part.(type) {
		case llm.ToolCall:
			t.calls = append(t.calls, &outcome{
				id: part.ID, call: callKey(part.Name, part.Input), text: "the call has no result", failed: true,
			})
		case llm.ToolResult:
			for _, o := range t.calls {
				if o.id == part.ID {
					o.text, o.failed = resultText(part.Content), part.IsError
				}
			}
		}
	}
}

// resultText joins the texts of a result and names its media, which the guide cannot read.
func resultText(parts []llm.Part) string {
	var texts []string
	for _, part := range parts {
		switch part := part.(type) {
		case llm.Text:
			texts = append(texts, part.Text)
		case llm.Media:
			texts = append(texts, "("+part.MediaType+", which I cannot read)")
		}
	}
	return strings.Join(texts, "\n")
}

func callKey(name string, input jsontext.Value) string {
	input = input.Clone()
	if err := input.Canonicalize(); err != nil {
		return name
	}
	return name + " " + string(input)
}

type arguments map[string]any

// callTool returns the outcome of a call if the request has one; otherwise it adds the call to pending and ready is
// false. Each outcome is returned once, so that a task can make the same call twice. A call that cannot be made is
// ready and failed.
func (t *task) callTool(name string, args arguments) (o *outcome, ready bool) {
	input, err := json.Marshal(args, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return &outcome{text: err.Error(), failed: true}, true
	}
	key := callKey(name, input)
	for _, o := range t.calls {
		if !o.used && o.call == key {
			o.used = true
			return o, true
		}
	}
	switch {
	case !t.tools[name]:
		return &outcome{text: fmt.Sprintf("this session does not offer the tool `%s`", name), failed: true}, true
	case t.turns >= maxTurns-1:
		return &outcome{text: fmt.Sprintf("the limit of %d turns per task is reached", maxTurns), failed: true}, true
	}
	t.pending = append(t.pending, llm.ToolCall{Name: name, Input: input})
	return nil, false
}

// read reads a file and adds it to the sources. limit 0 reads as much as the tool returns.
func (t *task) read(name string, offset, limit int) (f file, ready bool) {
	args := arguments{"filePath": name}
	if offset > 1 {
		args["offset"] = offset
	}
	if limit > 0 {
		args["limit"] = limit
	}
	o, ready := t.callTool("read", args)
	if !ready {
		return file{}, false
	}
	f = parseFile(t.relativePath(name), o)
	t.sources = append(t.sources, f)
	return f, true
}

// relativePath returns path relative to the working directory if it lies below it.
func (t *task) relativePath(path string) string {
	if rest, ok := strings.CutPrefix(path, t.root+"/"); ok && t.root != "" {
		return rest
	}
	return strings.TrimPrefix(path, "./")
}

// listSources returns the list of files read that ends an answer.
func (t *task) listSources() string {
	var b strings.Builder
	b.WriteString("\nFiles read:\n")
	if len(t.sources) == 0 {
		b.WriteString("- none\n")
	}
	for _, f := range t.sources {
		switch {
		case f.problem != "":
			fmt.Fprintf(&b, "- %s: not read: %s\n", f.path, f.problem)
		case len(f.lines) == 0:
			fmt.Fprintf(&b, "- %s (empty)\n", f.path)
		case f.complete:
			fmt.Fprintf(&b, "- %s (lines %d-%d, to the end)\n", f.path, f.lines[0].number, f.lastLine())
		default:
			fmt.Fprintf(&b, "- %s (lines %d-%d, there is more)\n", f.path, f.lines[0].number, f.lastLine())
		}
	}
	return b.String()
}
