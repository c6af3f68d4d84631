package crush

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// addPrompt adds what a person wrote, and the commands that the person ran.
func (c *converter) addPrompt(m message) {
	var files []session.File
	var texts []string
	for i, p := range m.parts {
		field := fmt.Sprintf("parts[%d]", i)
		switch p.kind {
		case "text":
			if p.Bool("hidden") { // Crush itself asks to go on
				c.Synthetic(fmt.Sprintf("%s#%d", m.row, i), m.at, p.Text("text"))
			} else {
				texts = append(texts, p.Text("text"))
			}
		case "binary":
			files = c.addFile(files, m.row, field, p.Text("MIMEType"), p.Text("Path"), p.Text("Data"))
		case "image_url":
			f, reason := foreign.FileOfURI(p.Text("url"), "")
			if reason != "" {
				c.Problem(m.row, field, reason)
				continue
			}
			files = append(files, f)
		case "shell_command":
			c.Shell(fmt.Sprintf("%s#%d", m.row, i), m.at, p.Text("command"), p.Text("output"))
		case "finish":
		default:
			c.Problem(m.row, field, "its type is not known")
		}
	}
	c.User(m.row, m.at, strings.Join(texts, "\n"), files)
}

// addFile appends a file to the list, or adds a problem.
func (c *converter) addFile(files []session.File, row, field string, content ...string) []session.File {
	f, reason := foreign.DataFile(content[0], baseName(content[1]), content[2])
	if reason != "" {
		c.Problem(row, field, reason)
		return files
	}
	return append(files, f)
}

// baseName returns the last element of a path of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// addTurn adds an answer of the model. Signatures are left out, so that any model can go on with the session.
func (c *converter) addTurn(m message) {
	t := c.Turn(m.row, m.at, m.model)
	ended := false
	for i, p := range m.parts {
		switch p.kind {
		case "text":
			t.Text(m.ended, p.Text("text"))
		case "reasoning":
			t.Reasoning(m.ended, p.Text("thinking"))
		case "tool_call":
			input, reason := parseInput(p.Text("input"))
			if reason != "" {
				c.Problem(m.row, fmt.Sprintf("parts[%d].input", i), reason)
			}
			name, input := mapTool(p.Text("name"), input)
			t.Call(m.ended, p.Text("id"), name, input)
		case "finish":
			ended = true
			finishTurn(t, p)
		default:
			c.Problem(m.row, fmt.Sprintf("parts[%d]", i), "its type is not known")
		}
	}
	if !ended {
		t.Fail(session.ReasonAborted, "it had not ended in the source")
	}
}

// parseInput parses the arguments of a call, which are a text with JSON. A call without arguments may have none.
func parseInput(text string) (foreign.Object, string) {
	if strings.TrimSpace(text) == "" {
		return foreign.Object{}, ""
	}
	in, reason := foreign.ParseObject([]byte(text))
	if reason != "" {
		return foreign.Object{}, reason
	}
	return in, ""
}

// finishTurn sets why a turn ended.
func finishTurn(t *foreign.Turn, p part) {
	message := strings.TrimSpace(p.Text("message") + ": " + p.Text("details"))
	message = strings.Trim(message, ": ")
	switch p.Text("reason") {
	case "max_tokens":
		t.Finish("length")
	case "content_filter":
		t.Finish("content-filter")
	case "canceled":
		t.Fail(session.ReasonAborted, "it was cancelled")
	case "error":
		t.Fail(session.ReasonAPI, message)
	default: // end_turn, tool_use, permission_denied, unknown
		t.Finish("stop")
	}
}

// addSummary adds a compaction.
func (c *converter) addSummary(m message) {
	if text := m.text(); strings.TrimSpace(text) != "" {
		c.Compaction(m.row, m.at, foreign.Summary{Reason: session.CompactionManual, Text: text})
		return
	}
	c.Problem(m.row, "", "the summary is empty")
}

// addResults gives calls their results.
func (c *converter) addResults(m message) {
	for i, p := range m.parts {
		field := fmt.Sprintf("parts[%d]", i)
		switch p.kind {
		case "tool_result":
			r := foreign.Result{Text: p.Text("content")}
			if p.Bool("is_error") {
				r.Reason = session.ReasonTool
			}
			if data := p.Text("data"); data != "" {
				r.Files = c.addFile(nil, m.row, field, p.Text("mime_type"), "", data)
			}
			if !c.Settle(m.row, m.ended, p.Text("tool_call_id"), r) {
				c.Problem(m.row, field, "it is the result of a call that is missing")
			}
		case "finish":
		default:
			c.Problem(m.row, field, "its type is not known")
		}
	}
}

// mapTool returns cairn's name of a tool and of its arguments.
func mapTool(name string, in foreign.Object) (string, foreign.Object) {
	switch name {
	case "view":
		return "read", in.Rename("file_path", "filePath")
	case "write":
		return name, in.Rename("file_path", "filePath")
	case "edit":
		return name, in.Rename(
			"file_path", "filePath", "old_string", "oldString", "new_string", "newString", "replace_all", "replaceAll",
		)
	case "ls":
		return "list", in
	case "fetch", "agentic_fetch", "web_fetch":
		return "webfetch", in
	case "web_search":
		return "websearch", in
	case "agent":
		return "task", in
	case "todos":
		return "todowrite", foreign.TodoInput(todosOf(in))
	}
	return name, in
}
