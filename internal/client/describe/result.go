package describe

import (
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
