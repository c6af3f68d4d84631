package printer

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func progressOf(part session.PartID, output string) *session.ToolProgress {
	b, _ := jsontext.AppendQuote(nil, output)
	return &session.ToolProgress{PartID: part, Structured: jsontext.Value(`{"output":` + string(b) + `}`)}
}

// TestLive: each running call has a line, a command the end of its output, a subagent what it does; ended ones vanish.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := testInvocation()
		l := newLive(nil, a.Err, a.Marks)
		check := func(want string) {
			t.Helper()
			got := ansi.Strip(strings.Join(l.renderLines(60, 11), "\n"))
			if d := cmp.Diff(strings.TrimPrefix(want, "\n"), got); d != "" {
				t.Error(d)
			}
		}
		check("⠋ starting 0s")
		l.NoteEvent("", begin("msg_a"))
		time.Sleep(2 * time.Second)
		check("⠋ waiting for the model 2s")
		l.NoteFragment(fragment("prt_r", session.FragmentReasoning, 0, "Hm"))
		check("⠋ thinking 2s")
		bash := called("prt_1", "bash", `{"command":"make check"}`)
		task := called("prt_2", "task", `{"description":"find it","subagent_type":"explore","task_id":"ses_2"}`)
		l.NoteEvent("", bash)
		l.NoteEvent("", task)
		l.NoteProgress(progressOf("prt_1", "1\n2\n3\n4\n5\n6\n10%\r50%\x1b[2J\r\n"))
		l.NoteProgress(progressOf("prt_9", "of another session"))
		l.NoteEvent("ses_2", called("prt_3", "read", `{"filePath":"main.go"}`))
		time.Sleep(time.Second)
		check(`
⠋ bash make check 1s
    3
    4
    5
    6
    50%
⠋ task find it (@explore): read main.go 1s
⠋ running 2 calls 3s`)
		l.NoteEvent("ses_2", called("prt_4", "task", `{"description":"deeper","subagent_type":"general","task_id":"ses_3"}`))
		l.NoteEvent("ses_3", called("prt_5", "grep", `{"pattern":"foo"}`))
		l.NoteEvent("", &session.ToolSuccess{PartID: "prt_1"})
		check(`
⠋ task find it (@explore): task deeper (@general) 1s
  ⠋ task deeper (@general): grep foo 0s
⠋ running 1 call 3s`)
		for i := range 20 {
			l.NoteEvent("", called(session.PartID(rune('a'+i)), "read", `{"filePath":"`+strings.Repeat("x", 100)+`"}`))
		}
		if lines := l.renderLines(60, 11); len(lines) != 11 || ansi.StringWidth(lines[5]) > 60 {
			t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		for i := range 20 {
			l.NoteEvent("", &session.ToolFailed{PartID: session.PartID(rune('a' + i))})
		}
		l.NoteEvent("", &session.ToolFailed{PartID: "prt_2"}) // with what its subagents run
		check("⠋ waiting for the model 3s")
	})
}
