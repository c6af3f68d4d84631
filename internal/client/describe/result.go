package describe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// outputTail is the number of the last lines of a failed command's output that are shown.
const outputTail = 10

// DescribeFailure returns why a command whose call has a result failed nevertheless, "" if it did not: the call of a
// command that ends with an exit code other than 0, or is stopped, settles with a result like any other. The lines are
// the last of its output, ready to be printed.
func DescribeFailure(tool string, structured jsontext.Value) (why string, lines []string) {
	if tool != "bash" {
		return "", nil
	}
	var result struct {
		Output  string         `json:"output"`
		Exit    jsontext.Value `json:"exit"`
		Timeout bool           `json:"timeout"`
	}
	if json.Unmarshal(structured, &result, jsontext.AllowInvalidUTF8(true)) != nil {
		return "", nil
	}
	switch exit := string(result.Exit); {
	case exit == "" || exit == "0":
		return "", nil
	case exit != "null":
		why = "exit code " + exit
	case result.Timeout:
		why = "stopped by its time limit"
	default:
		why = "stopped"
	}
	return why, lastLines(result.Output)
}

// DescribeShellEnd returns why a user's command failed, "" if it did not, still runs, or its end is not recorded.
func DescribeShellEnd(e session.ShellEnd) string {
	switch {
	case e.Stopped:
		return "stopped"
	case e.Exit != nil && *e.Exit != 0:
		return "exit code " + strconv.Itoa(*e.Exit)
	default:
		return ""
	}
}

// lastLines returns the last lines of an output without control characters, after a note of how many precede them.
func lastLines(output string) []string {
	text := strings.TrimRight(terminal.CleanOutput(output), "\n")
	if text == "" || text == "(no output)" { // the tool's text for the model
		return nil
	}
	all := strings.Split(text, "\n")
	lines := make([]string, 0, outputTail+1)
	if hidden := len(all) - outputTail; hidden > 0 {
		all = all[hidden:]
		lines = append(lines, fmt.Sprintf("    … %d more lines above", hidden))
	}
	for _, l := range all {
		lines = append(lines, "    "+terminal.FirstLine(l, lineWidth))
	}
	return lines
}

// lineWidth bounds the length of a line of output.
const lineWidth = 200

// FormatTodos returns the lines of a list of todos.
func FormatTodos(todos []session.Todo) []string {
	boxes := map[session.TodoStatus]string{
		session.TodoCompleted: "[x]", session.TodoInProgress: "[>]", session.TodoCancelled: "[-]",
	}
	var lines []string
	for _, todo := range todos {
		box := boxes[todo.Status]
		if box == "" {
			box = "[ ]"
		}
		lines = append(lines, box+" "+terminal.FirstLine(todo.Content, lineWidth))
	}
	return lines
}

// FormatTodoProgress says how many todos are done and which one is worked on, or comes next; "" if none is open.
func FormatTodoProgress(todos []session.Todo) string {
	done, current, working := 0, "", false
	for _, todo := range todos {
		switch {
		case todo.Status == session.TodoCompleted || todo.Status == session.TodoCancelled:
			done++
		case todo.Status == session.TodoInProgress && !working, current == "":
			current, working = todo.Content, todo.Status == session.TodoInProgress
		}
	}
	if done == len(todos) {
		return ""
	}
	return fmt.Sprintf("todos %d/%d: %s", done, len(todos), terminal.FirstLine(current, lineWidth))
}

// CallTodos returns the lines of the todos that a call of the tool todowrite sets, nil for other tools.
func CallTodos(tool string, input jsontext.Value) []string {
	var in struct {
		Todos []session.Todo `json:"todos"`
	}
	if tool != "todowrite" || json.Unmarshal(input, &in) != nil {
		return nil
	}
	return FormatTodos(in.Todos)
}
