package describe

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestCommandOutcome(t *testing.T) {
	many, tail := strings.Repeat(`l\n`, 12), strings.Repeat("|l", TailLines)
	for _, c := range []struct{ tool, result, why, lines string }{
		{"bash", `{"output":"fine\n","exit":0}`, "", "fine"},
		{"bash", `{"output":"broken\n","exit":2}`, "exit code 2", "broken"},
		{"bash", `{"output":"","exit":137}`, "exit code 137", ""},
		{"bash", `{"output":"so far","exit":null}`, "stopped", "so far"},
		{"bash", `{"output":"","exit":null,"timeout":true}`, "stopped by its time limit", ""},
		{"bash", `{"output":"a\u001b[2Jb","exit":1}`, "exit code 1", "ab"},
		{"bash", `{"output":"a\u001b]0;b","exit":1}`, "exit code 1", "a\ufffd]0;b"},
		{"bash", `{"output":"\u001b[31m10%\r50%\r\u001b[0mend\r\n","exit":1}`, "exit code 1", "end"},
		{"bash", `{"output":"` + many + `","exit":1}`, "exit code 1", "… 4 more lines above" + tail},
		{"bash", `{"output":"a job"}`, "", "a job"},
		{"bash", `nonsense`, "", ""},
		{"read", `{"exit":1}`, "", ""},
		{"edit", `{"notes":["language server a is not installed: get it","b"]}`, "", "language server a is not installed: get it|b"},
	} {
		o := DescribeOutcome(c.tool, nil, jsontext.Value(c.result))
		if o.Failure != c.why || strings.Join(o.Lines, "|") != c.lines {
			t.Errorf("%s %s: %+v, want %q %q", c.tool, c.result, o, c.why, c.lines)
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
	o := DescribeOutcome("todowrite", jsontext.Value(input), nil)
	if got := strings.Join(o.Lines, "|"); got != "[x] a|[>] b|[-] c|[ ] d" {
		t.Error(got)
	}
	if o := DescribeOutcome("bash", jsontext.Value(input), nil); o.Lines != nil {
		t.Error(o)
	}
}

// TestCounts: the line of a call says how much it read, found or changed.
func TestCounts(t *testing.T) {
	for _, c := range []struct{ tool, result, want string }{
		{"read", `{"display":{"type":"file","lineStart":1,"lineEnd":42,"totalLines":42}}`, ", 42 lines"},
		{"read", `{"display":{"type":"file","lineStart":1,"lineEnd":1,"totalLines":1}}`, ", 1 line"},
		{"read", `{"display":{"type":"file","lineStart":11,"lineEnd":30,"totalLines":1412}}`, ", lines 11-30 of 1,412"},
		{"read", `{"display":{"type":"file","lineStart":1,"lineEnd":2000,"totalLines":0}}`, ", lines 1-2000"},
		{"read", `{"display":{"type":"directory","entries":["a","b"]}}`, ", 2 entries"},
		{"read", `{"preview":"Image read successfully"}`, ""},
		{"grep", `{"matches":5,"truncated":false}`, ", 5 matches"},
		{"grep", `{"matches":1,"truncated":true}`, ", 1 match, cut"},
		{"grep", `{"matches":0,"truncated":false}`, ", 0 matches"},
		{"glob", `{"count":12,"truncated":false}`, ", 12 files"},
		{"list", `{"count":1,"truncated":false}`, ", 1 entry"},
		{"webfetch", `{"bytes":2048}`, ", 2,048 bytes"},
		{"webfetch", `{"redirect":"https://b"}`, ""},
		{"edit", `{"diff":"cut","filediff":{"additions":2000,"deletions":3}}`, " +2000 -3"},
		{"edit", `{"diff":"--- a\n+++ a\n@@ -1 +1 @@\n-b\n+c\n"}`, " +1 -1"},
		{"write", `{"diff":"--- a\n+++ a\n","filediff":{"additions":0,"deletions":0},"exists":true}`, ", changes nothing"},
		{"write", `{"diff":"--- a\n+++ a\n","filediff":{"additions":0,"deletions":0},"exists":false}`, ""},
		{"apply_patch", `{"diff":"d","files":[{"additions":1,"deletions":2},{"additions":3,"deletions":0}]}`, " +4 -2"},
		{"apply_patch", `{"diff":"","files":[{"type":"move","additions":0,"deletions":0}]}`, ""},
		{"mine", `{"matches":5}`, ""},
		{"grep", `nonsense`, ""},
		{"glob", `{"truncated":true,"bytes":5000000}`, ""},
	} {
		if got := DescribeOutcome(c.tool, nil, jsontext.Value(c.result)).Counts; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.result, got, c.want)
		}
	}
}

// TestAnswers: the answers of the person are below the call that asked.
func TestAnswers(t *testing.T) {
	input := `{"questions":[{"question":"Which database?"},{"question":"Which\nports?"},{"question":"Why?"}]}`
	o := DescribeOutcome("question", jsontext.Value(input), jsontext.Value(`{"answers":[["Postgres"],["80","443"],[]]}`))
	want := "Which database? -> Postgres|Which ports? -> 80, 443|Why? -> no answer"
	if got := strings.Join(o.Lines, "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if o := DescribeOutcome("question", jsontext.Value(input), jsontext.Value(`{}`)); o.Lines != nil {
		t.Errorf("without answers: %+v", o)
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
