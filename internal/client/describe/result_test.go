package describe

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestDescribeFailure(t *testing.T) {
	many, ten := strings.Repeat(`l\n`, 12), strings.Repeat("|    l", 10)
	for _, c := range []struct{ tool, result, why, lines string }{
		{"bash", `{"output":"fine\n","exit":0}`, "", ""},
		{"bash", `{"output":"broken\n","exit":2}`, "exit code 2", "    broken"},
		{"bash", `{"output":"","exit":137}`, "exit code 137", ""},
		{"bash", `{"output":"so far","exit":null}`, "stopped", "    so far"},
		{"bash", `{"output":"","exit":null,"timeout":true}`, "stopped by its time limit", ""},
		{"bash", `{"output":"a\u001b[2Jb","exit":1}`, "exit code 1", "    ab"},
		{"bash", `{"output":"a\u001b]0;b","exit":1}`, "exit code 1", "    a\ufffd]0;b"},
		{"bash", `{"output":"\u001b[31m10%\r50%\r\u001b[0mend\r\n","exit":1}`, "exit code 1", "    end"},
		{"bash", `{"output":"` + many + `","exit":1}`, "exit code 1", "    … 2 more lines above" + ten},
		{"bash", `{"output":"a job"}`, "", ""},
		{"bash", `nonsense`, "", ""},
		{"read", `{"exit":1}`, "", ""},
	} {
		why, lines := DescribeFailure(c.tool, jsontext.Value(c.result))
		if why != c.why || strings.Join(lines, "|") != c.lines {
			t.Errorf("%s %s: %q %q, want %q %q", c.tool, c.result, why, lines, c.why, c.lines)
		}
	}
}

func TestDescribeShellEnd(t *testing.T) {
	zero, three := 0, 3
	for _, c := range []struct {
		end  session.ShellEnd
		want string
	}{
		{session.ShellEnd{}, ""},
		{session.ShellEnd{Exit: &zero}, ""},
		{session.ShellEnd{Exit: &three}, "exit code 3"},
		{session.ShellEnd{Stopped: true}, "stopped"},
	} {
		if got := DescribeShellEnd(c.end); got != c.want {
			t.Errorf("%+v: %q, want %q", c.end, got, c.want)
		}
	}
}

func TestCallTodos(t *testing.T) {
	input := `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},` +
		`{"content":"c","status":"cancelled"},{"content":"d","status":"pending"}]}`
	if got := strings.Join(CallTodos("todowrite", jsontext.Value(input)), "|"); got != "[x] a|[>] b|[-] c|[ ] d" {
		t.Error(got)
	}
	if got := CallTodos("bash", jsontext.Value(input)); got != nil {
		t.Error(got)
	}
}

// TestFormatTodoProgress: one line says how many todos are done and which one is current.
func TestFormatTodoProgress(t *testing.T) {
	t.Parallel()
	todo := func(status session.TodoStatus, text string) session.Todo {
		return session.Todo{Content: text, Status: status}
	}
	done, open, now := todo(session.TodoCompleted, "a"), todo("pending", "b"), todo(session.TodoInProgress, "c\nd")
	for want, todos := range map[string][]session.Todo{
		"":              nil,
		"todos 0/1: b":  {open},
		"todos 1/3: c…": {done, open, now},
		"todos 1/2: b":  {done, open},
		"todos 2/4: c…": {done, done, now, open},
	} {
		if got := FormatTodoProgress(todos); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := FormatTodoProgress([]session.Todo{done, done}); got != "" {
		t.Errorf("all are done: %q", got)
	}
}
