package claude

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// result is the result of a call, with the row that has it.
type result struct {
	row   *row
	block foreign.Object
}

// addResults takes note of the results in a user row. They are found by the id of the call: of calls that run side by
// side, only one result is in the chain of the leaf.
func (f *file) addResults(r *row) {
	for _, b := range r.Object.Object("message").Objects("content") {
		if id := b.Text("tool_use_id"); b.Text("type") == "tool_result" && id != "" {
			if _, ok := f.results[id]; !ok {
				f.results[id] = result{r, b}
			}
		}
	}
}

// addAnswer adds the turn of an answer, unless an earlier row of the answer did. All rows of the answer count, those
// in other branches too: calls that run side by side are siblings.
func (t *transcript) addAnswer(r *row) {
	message := r.Object.Object("message")
	if r.Bool("isApiErrorMessage") {
		text := blockTexts(message)
		t.builder.Turn(r.id, r.at, t.model).Fail(session.ReasonAPI, text)
		return
	}
	rows := []*row{r}
	if id := message.Text("id"); id != "" {
		key := answerKey(r, id)
		if t.turns[key] {
			return
		}
		t.turns[key] = true
		rows = rows[:0]
		for _, i := range t.file.answers[key] {
			rows = append(rows, t.file.rows[i])
		}
	}
	switch name := message.Text("model"); {
	case name == "<synthetic>" && blockTexts(message) == "No response requested.":
		return
	case name != "" && name != "<synthetic>":
		t.model.ID = name
	}
	turn := t.builder.Turn(rows[0].id, rows[0].at, t.model)
	for _, r := range rows {
		t.addAnswerRow(turn, r)
	}
}

// addAnswerRow adds the content of one row of an answer. Usage and the reason of its end are those of the newest row.
func (t *transcript) addAnswerRow(turn *foreign.Turn, r *row) {
	message := r.Object.Object("message")
	if u := message.Object("usage"); u != nil {
		turn.Usage(session.Tokens{
			Input: u.Int("input_tokens"), Output: u.Int("output_tokens"),
			Cache: session.CacheUsage{Read: u.Int("cache_read_input_tokens"), Write: u.Int("cache_creation_input_tokens")},
		})
	}
	if r.Has("costUSD") { // versions before 1.0.9
		turn.Cost(string(r.Object["costUSD"]))
	}
	turn.Finish(finishOf(message.Text("stop_reason")))
	content := message["content"]
	if content.Kind() == '"' {
		turn.Text(r.at, message.Text("content"))
		return
	}
	if content.Kind() != '[' {
		t.builder.Problem(r.name(), "message.content", "it is neither a string nor a list")
		return
	}
	for i, b := range message.Objects("content") {
		if reason := t.addBlock(turn, r, b); reason != "" {
			t.builder.Problem(r.name(), fmt.Sprintf("message.content[%d]", i), reason)
		}
	}
}

// addBlock adds a block of an answer. The reason says why it was left out.
func (t *transcript) addBlock(turn *foreign.Turn, r *row, b foreign.Object) (reason string) {
	switch kind := b.Text("type"); {
	case kind == "text":
		if text := b.Text("text"); text != empty {
			turn.Text(r.at, text)
		}
	case kind == "thinking":
		turn.Reasoning(r.at, b.Text("thinking"))
	case kind == "redacted_thinking": // has no text
	case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
		id := b.Text("id")
		name, input := mapTool(b.Text("name"), b.Object("input"))
		turn.Call(r.at, id, name, input)
		if found, ok := t.file.results[id]; ok {
			t.settle(found.row, found.block)
		}
	case strings.HasSuffix(kind, "_tool_result"): // of a tool that the provider ran
		t.settle(r, b)
	default:
		return "the kind of content is unknown"
	}
	return ""
}

// settle gives a call the result in the block.
func (t *transcript) settle(r *row, b foreign.Object) {
	var out foreign.Result
	var texts []string
	if b["content"].Kind() == '"' {
		texts = []string{b.Text("content")}
	}
	blocks := b.Objects("content")
	if one := b.Object("content"); one != nil {
		blocks = []foreign.Object{one}
	}
	for i, c := range blocks {
		switch kind := c.Text("type"); kind {
		case "text":
			texts = append(texts, c.Text("text"))
		case "image", "document":
			f, reason := readFile(c)
			if reason != "" {
				t.builder.Problem(r.name(), fmt.Sprintf("tool_result.content[%d]", i), reason)
				continue
			}
			out.Files = append(out.Files, f)
		case "web_search_result":
			texts = append(texts, strings.TrimSpace(c.Text("title")+"\n"+c.Text("url")))
		case "tool_reference":
			texts = append(texts, c.Text("tool_name"))
		default:
			texts = append(texts, string(c.Value()))
			if c.Has("error_code") {
				out.Reason = session.ReasonTool
			}
		}
	}
	out.Text = strings.Join(texts, "\n")
	if b.Bool("is_error") {
		out.Reason = failureOf(out.Text)
	}
	t.builder.Settle(r.name(), r.at, b.Text("tool_use_id"), out)
}

// failureOf returns why a call failed, by the text of its result.
func failureOf(text string) session.Reason {
	switch {
	case strings.HasPrefix(text, "The user doesn't want to proceed with this tool use"),
		strings.HasPrefix(text, "The user doesn't want to take this action"):
		return session.ReasonDenied
	case strings.HasPrefix(text, "[Request interrupted by user"):
		return session.ReasonAborted
	}
	return session.ReasonTool
}

// blockTexts returns the texts of a message.
func blockTexts(message foreign.Object) string {
	if message["content"].Kind() == '"' {
		return message.Text("content")
	}
	var texts []string
	for _, b := range message.Objects("content") {
		if b.Text("type") == "text" {
			texts = append(texts, b.Text("text"))
		}
	}
	return strings.Join(texts, "\n\n")
}

func finishOf(reason string) string {
	switch reason {
	case "end_turn", "stop_sequence", "pause_turn":
		return "stop"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "refusal":
		return "content-filter"
	}
	return ""
}

// mapTool returns cairn's name and arguments of a call. Tools without an equivalent stay as they are.
func mapTool(name string, in foreign.Object) (string, foreign.Object) {
	switch name {
	case "Read":
		return "read", in.Rename("file_path", "filePath")
	case "Write":
		return "write", in.Rename("file_path", "filePath")
	case "Edit":
		return "edit", in.Rename(
			"file_path", "filePath", "old_string", "oldString", "new_string", "newString", "replace_all", "replaceAll",
		)
	case "Bash":
		return "bash", in.Rename("run_in_background", "background")
	case "Glob":
		return "glob", in
	case "Grep":
		return "grep", in.Rename("glob", "include")
	case "LS":
		return "list", in
	case "Task", "Agent":
		return "task", in.Rename("run_in_background", "background")
	case "WebFetch":
		return "webfetch", in
	case "WebSearch", "web_search":
		return "websearch", in
	case "TodoWrite":
		return "todowrite", mapTodos(in)
	case "AskUserQuestion":
		return "question", mapQuestions(in)
	}
	return name, in
}

// mapTodos gives todos the members that cairn's have.
func mapTodos(in foreign.Object) foreign.Object {
	var todos []session.Todo
	for _, o := range in.Objects("todos") {
		todos = append(todos, foreign.NewTodo(o.Text("content"), o.Text("status")))
	}
	return foreign.TodoInput(todos)
}

func mapQuestions(in foreign.Object) foreign.Object {
	var list []jsontext.Value
	for _, q := range in.Objects("questions") {
		list = append(list, q.Rename("multiSelect", "multiple").Value())
	}
	return in.With("questions", foreign.ListOf(list))
}
