package gemini

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// conversion makes the messages of a chat.
type conversion struct {
	builder   *foreign.Builder
	model     session.ModelRef
	responses map[string]foreign.Object // results in user messages, by the id of the call
}

// convert adds all messages.
func (f *chat) convert() {
	c := &conversion{
		builder: f.builder, model: session.ModelRef{ProviderID: "google", ID: "unknown"},
		responses: map[string]foreign.Object{},
	}
	// A call carries its results, and a user message repeats them; only the latter may be there.
	for _, m := range f.messages {
		for _, p := range m.Objects("content") {
			if r := p.Object("functionResponse"); r != nil && m.Text("type") == "user" {
				c.responses[r.Text("id")] = p
			}
		}
	}
	for _, m := range f.messages {
		switch m.Text("type") {
		case "user":
			c.addUser(m)
		case "gemini":
			c.addAnswer(m)
		case "error":
			c.builder.Turn(m.row, m.at, c.model).Fail(session.ReasonAPI, c.readParts(m, "content").text())
		case "info", "warning": // for the person at the terminal; the model never saw them
		default:
			c.builder.Problem(m.row, "type", "the type of the message is unknown")
		}
	}
}

// addUser adds a prompt. Results in it belong to the calls.
func (c *conversion) addUser(m message) {
	p := c.readParts(m, "content")
	for _, r := range p.responses {
		if !c.builder.HasCall(r.Text("id")) {
			c.builder.Problem(m.row, "functionResponse", "the call of the result is missing")
		}
	}
	text := p.text()
	switch trimmed := strings.TrimSpace(text); {
	case strings.HasPrefix(trimmed, "<session_context>"), strings.HasPrefix(trimmed, contextBefore2026):
		// cairn tells the model about its surroundings anew.
		s := c.builder.Session()
		s.Directory = cmp.Or(s.Directory, directoryOf(trimmed))
	case strings.HasPrefix(trimmed, "<hook_context>"), trimmed == "System: Please continue.":
		c.builder.Synthetic(m.row, m.at, text)
	default:
		c.builder.User(m.row, m.at, text, p.files)
	}
}

// contextBefore2026 begins what is in <session_context> since.
const contextBefore2026 = "This is the Gemini CLI. We are setting up the context for our chat."

// directoryOf returns the first of the directories that the text about the surroundings names.
func directoryOf(text string) string {
	for _, before := range []string{"Workspace Directories:**\n  - ", "I'm currently working in the directory: "} {
		if _, rest, ok := strings.Cut(text, before); ok {
			dir, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(dir)
		}
	}
	return ""
}

// addAnswer adds the turn of an answer: thoughts, text, calls with their results.
func (c *conversion) addAnswer(m message) {
	c.model.ID = cmp.Or(m.Text("model"), c.model.ID)
	turn := c.builder.Turn(m.row, m.at, c.model)
	if u := m.Object.Object("tokens"); u != nil {
		cached := u.Int("cached")
		turn.Usage(session.Tokens{
			Input: max(0, u.Int("input")-cached) + u.Int("tool"), Output: u.Int("output"), Reasoning: u.Int("thoughts"),
			Cache: session.CacheUsage{Read: cached},
		})
	}
	for _, t := range m.Objects("thoughts") {
		text := t.Text("description")
		if subject := t.Text("subject"); subject != "" {
			text = "**" + subject + "**\n\n" + text
		}
		turn.Reasoning(cmp.Or(t.Time("timestamp"), m.at), text)
	}
	p := c.readParts(m, "content")
	turn.Reasoning(m.at, strings.Join(p.thoughts, "\n\n"))
	turn.Text(m.at, p.text())
	for i := range p.files {
		c.builder.Problem(m.row, "content", fmt.Sprintf("file %d of the answer was left out", i+1))
	}
	calls := map[string]bool{}
	for i, call := range m.Objects("toolCalls") {
		id := cmp.Or(call.Text("id"), fmt.Sprintf("%s-call-%d", m.row, i+1))
		if calls[id] {
			continue // later states of one call replace it in place
		}
		calls[id] = true
		name, input := mapTool(call.Text("name"), call.Object("args"))
		turn.Call(cmp.Or(call.Time("timestamp"), m.at), id, name, input)
		c.settle(m, id, call)
	}
	for _, call := range p.calls { // of histories that were rewritten
		if id := call.Text("id"); !calls[id] {
			calls[id] = true
			name, input := mapTool(call.Text("name"), call.Object("args"))
			turn.Call(m.at, id, name, input)
			c.settle(m, id, foreign.Object{})
		}
	}
}

// settle gives a call its result: that of the call, else of the user message that repeats it, else what was shown.
func (c *conversion) settle(m message, id string, call foreign.Object) {
	parts := call.Objects("result")
	if response, ok := c.responses[id]; ok && len(parts) == 0 {
		parts = []foreign.Object{response}
	}
	status := call.Text("status")
	out, found := c.resultOf(m, id, parts)
	if text := call.Text("result"); !found && text != "" {
		out.Text, found = text, true
	}
	if !found {
		if status != "success" && status != "error" && status != "cancelled" {
			return // it was still running
		}
		out.Text = call.Text("resultDisplay")
	}
	switch status {
	case "cancelled":
		out.Reason = session.ReasonAborted
	case "error":
		out.Reason = session.ReasonTool
	}
	c.builder.Settle(m.row, cmp.Or(call.Time("timestamp"), m.at), id, out)
}

// resultOf returns the result of the call in the parts, which may hold those of other calls too.
func (c *conversion) resultOf(m message, id string, parts []foreign.Object) (out foreign.Result, found bool) {
	var texts []string
	for _, p := range parts {
		r := p.Object("functionResponse")
		if r == nil {
			found = c.addMedia(m, p, &out, &texts) || found
			continue
		}
		if other := r.Text("id"); other != "" && other != id {
			continue
		}
		found = true
		response := r.Object("response")
		switch {
		case response.Has("error"):
			out.Reason = session.ReasonTool
			texts = append(texts, textOrJSON(response["error"]))
		case response.Has("output"):
			texts = append(texts, textOrJSON(response["output"]))
		case len(response) > 0:
			texts = append(texts, string(response.Value()))
		}
		for _, media := range r.Objects("parts") {
			c.addMedia(m, media, &out, &texts)
		}
	}
	out.Text = strings.Join(texts, "\n")
	return out, found
}

// addMedia adds text or a file beside a result. It reports whether the part is one.
func (c *conversion) addMedia(m message, p foreign.Object, out *foreign.Result, texts *[]string) bool {
	switch {
	case p.Has("text"):
		*texts = append(*texts, p.Text("text"))
	case p.Has("inlineData"):
		data := p.Object("inlineData")
		f, reason := foreign.DataFile(data.Text("mimeType"), data.Text("displayName"), data.Text("data"))
		if reason != "" {
			c.builder.Problem(m.row, "result.inlineData", reason)
			return true
		}
		out.Files = append(out.Files, f)
	default:
		return false
	}
	return true
}

// textOrJSON returns the string, or the JSON of another value.
func textOrJSON(v jsontext.Value) string {
	o := foreign.Object{"v": v}
	if v.Kind() == '"' {
		return o.Text("v")
	}
	if o.Object("v") != nil {
		return string(o.Object("v").Value())
	}
	return string(v)
}

// parts are what the content of a message contains.
type parts struct {
	texts     []string
	thoughts  []string
	files     []session.File
	calls     []foreign.Object
	responses []foreign.Object
}

func (p parts) text() string { return strings.Join(p.texts, "") }

// readParts reads content: a string, a part, or a list of both.
func (c *conversion) readParts(m message, field string) parts {
	var p parts
	content := m.Object[field]
	list := []jsontext.Value{content}
	switch content.Kind() {
	case '[':
		list = m.List(field)
	case '"', '{':
	default:
		if m.Has(field) {
			c.builder.Problem(m.row, field, "it is neither a string nor a list")
		}
		return p
	}
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		one := foreign.Object{"v": v}
		if v.Kind() == '"' {
			p.texts = append(p.texts, one.Text("v"))
		} else if reason := p.add(one.Object("v")); reason != "" {
			c.builder.Problem(m.row, at, reason)
		}
	}
	return p
}

// add adds a part. The reason says why it was left out.
func (p *parts) add(o foreign.Object) (reason string) {
	switch {
	case o.Has("text") && o.Bool("thought"):
		p.thoughts = append(p.thoughts, o.Text("text"))
	case o.Has("text"):
		p.texts = append(p.texts, o.Text("text"))
	case o.Has("functionCall"):
		p.calls = append(p.calls, o.Object("functionCall"))
	case o.Has("functionResponse"):
		p.responses = append(p.responses, o.Object("functionResponse"))
	case o.Has("inlineData"):
		data := o.Object("inlineData")
		f, reason := foreign.DataFile(data.Text("mimeType"), data.Text("displayName"), data.Text("data"))
		if reason != "" {
			return reason
		}
		p.files = append(p.files, f)
	case o.Has("fileData"):
		return "its content is not in the source"
	case o.Has("thoughtSignature") || o != nil && len(o) == 0:
	default:
		return "the kind of content is unknown"
	}
	return ""
}

// mapTool returns cairn's name and arguments of a call. Tools without an equivalent stay as they are.
func mapTool(name string, in foreign.Object) (string, foreign.Object) {
	switch name {
	case "read_file":
		return "read", in.Rename("file_path", "filePath", "absolute_path", "filePath", "path", "filePath")
	case "write_file":
		return "write", in.Rename("file_path", "filePath")
	case "replace":
		return "edit", in.Rename("file_path", "filePath", "old_string", "oldString", "new_string", "newString")
	case "run_shell_command":
		return "bash", in.Rename("dir_path", "workdir", "directory", "workdir", "is_background", "background")
	case "glob":
		return "glob", in.Rename("dir_path", "path")
	case "grep_search", "search_file_content":
		return "grep", in.Rename("dir_path", "path", "include_pattern", "include")
	case "list_directory":
		return "list", in.Rename("dir_path", "path")
	case "google_web_search":
		return "websearch", in
	case "ask_user":
		return "question", in
	case "write_todos":
		var todos []session.Todo
		for _, t := range in.Objects("todos") {
			todos = append(todos, foreign.NewTodo(t.Text("description"), t.Text("status")))
		}
		return "todowrite", foreign.TodoInput(todos)
	}
	return name, in
}
