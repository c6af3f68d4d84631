package describe

import (
	"fmt"
	"strconv"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

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
