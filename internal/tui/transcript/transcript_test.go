package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

func newTestModel(tb testing.TB, width, height int) *transcript.Model {
	tb.Helper()
	th, err := style.New("", func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] })
	if err != nil {
		tb.Fatal(err)
	}
	m := transcript.New(th)
	m.SetSize(width, height)
	return m
}

// view returns the lines on the screen without styles.
func view(m *transcript.Model) string {
	var out []string
	for line := range strings.SplitSeq(m.View(), "\n") {
		out = append(out, strings.TrimRight(ansi.Strip(line), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// feeder shows the events of a session, and keeps its messages as the store does.
type feeder struct {
	model    *transcript.Model
	messages []session.Message
	seq      int64
}

func (f *feeder) show(events ...session.EventData) {
	for _, d := range events {
		f.seq++
		d.Stamp().Timestamp = f.seq * 1000
		f.model.ShowEvent(&session.Event{Seq: f.seq, Data: d})
		if m := session.Begin(d, f.seq); m != nil {
			f.messages = append(f.messages, m)
		}
		for _, m := range f.messages {
			switch m := m.(type) {
			case *session.Assistant:
				m.Apply(d)
			case *session.Shell:
				if ended, ok := d.(*session.ShellEnded); ok && ended.CallID == m.CallID {
					m.Apply(ended)
				}
			}
		}
	}
}

// stream shows a text in fragments of random lengths.
func (f *feeder) stream(id session.MessageID, part session.PartID, text string, random *rand.Rand) {
	for at := 0; at < len(text); {
		n := min(1+random.IntN(12), len(text)-at)
		for at+n < len(text) && text[at+n]&0xc0 == 0x80 {
			n++
		}
		f.model.ShowFragment(&session.Fragment{
			MessageID: id, PartID: part, Item: session.FragmentText, Offset: at, Delta: text[at : at+n],
		})
		at += n
		_ = f.model.View()
	}
}

const answer = "# Plan\n\nFirst *this*:\n\n```go\nfunc f() {\n\n\treturn 1\n}\n```\n\n" +
	"| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two 漢字\n"

// runWork shows a prompt and its answer, and returns the feeder. Calls of all kinds are among it.
func runWork(m *transcript.Model, random *rand.Rand) *feeder {
	f := &feeder{model: m}
	turn := session.OfTurn("msg_a")
	f.show(
		&session.Prompted{MessageID: "msg_u", Prompt: session.Prompt{
			Text:  "do it\nnow",
			Files: []session.File{{Name: "shot.png", Mime: "image/png", URI: "data:image/png;base64,AA"}},
		}},
		&session.StepStarted{TurnFact: turn},
		&session.ReasoningStarted{TurnFact: turn, ReasoningID: "r", PartID: "prt_r"},
		&session.ReasoningEnded{TurnFact: turn, ReasoningID: "r", PartID: "prt_r", Text: "I think\nthat"},
		&session.TextStarted{TurnFact: turn, TextID: "t", PartID: "prt_t"},
	)
	f.stream("msg_a", "prt_t", answer, random)
	f.show(&session.TextEnded{TurnFact: turn, TextID: "t", PartID: "prt_t", Text: answer})
	call := func(part session.PartID, name, input string, end session.EventData) {
		f.show(
			&session.ToolInputStarted{TurnFact: turn, CallID: string(part), PartID: part, Name: name},
			&session.ToolCalled{
				TurnFact: turn, CallID: string(part), PartID: part, Tool: name, Input: jsontext.Value(input),
			},
			end,
		)
	}
	success := func(part session.PartID, text, structured string) session.EventData {
		return &session.ToolSuccess{
			TurnFact: turn, CallID: string(part), PartID: part, Content: session.TextContent(text),
			Structured: jsontext.Value(structured),
		}
	}
	call("prt_1", "read", `{"filePath":"a.go"}`, success("prt_1", "1: package a", `{}`))
	call("prt_2", "edit", `{"filePath":"a.go"}`, success("prt_2", "ok",
		`{"diff":"--- a.go\n+++ a.go\n@@ -1 +1 @@\n-old\n+new\n"}`))
	call("prt_3", "bash", `{"command":"make"}`, success("prt_3", "x", `{"output":"one\ntwo\n","exit":2}`))
	call("prt_4", "write", `{"filePath":"b"}`, &session.ToolFailed{
		TurnFact: turn, CallID: "prt_4", PartID: "prt_4", Error: *session.Fail("tool", "the directory is read-only"),
	})
	call("prt_5", "todowrite",
		`{"todos":[{"content":"first","status":"completed"},{"content":"then","status":"pending"}]}`,
		success("prt_5", "[]", `{}`))
	call("prt_6", "bash", `{"command":"sleep 9"}`, &session.ToolProgress{
		TurnFact: turn, CallID: "prt_6", PartID: "prt_6",
		Structured: jsontext.Value(`{"output":"1\n2\n3\n4\n5\n6\n7\n8\n"}`),
	})
	f.show(&session.ShellStarted{MessageID: "msg_s", CallID: "sh", Command: "ls"})
	return f
}

// TestWork checks what is shown of calls of all kinds, closed and open.
func TestWork(t *testing.T) {
	m := newTestModel(t, 60, 80)
	m.SetTime(time.UnixMilli(60_000))
	f := runWork(m, rand.New(rand.NewPCG(1, 1)))
	m.SetTime(time.UnixMilli(60_000))
	calls := `
✓ read a.go (1s)
✓ edit a.go +1 -1 (1s)
  1 - old
  1 + new
✗ bash make (1s), exit code 2
  one
  two
✗ write b (1s)
  the directory is read-only
✓ todowrite 2 steps, 1 open (1s)
  [x] first
  [ ] then
→ bash sleep 9 (37s)
  1
  2
  3
  4
  5
  6
  7
  8
→ ! ls (35s)`
	const begin = "> do it\n  now\n  image shot.png\n\nthought: I think"
	if got := view(m); !strings.HasSuffix(got, calls) || !strings.HasPrefix(got, begin) {
		t.Errorf("got\n%s", got)
	}
	two := 2
	f.show(&session.ToolSuccess{
		TurnFact: session.OfTurn("msg_a"), CallID: "prt_6", PartID: "prt_6",
		Structured: jsontext.Value(`{"output":"0\n1\n2\n3\n4\n5\n6\n7\ndone\n","exit":0}`),
	})
	const done = "✓ bash sleep 9 (3s)\n  … 1 more line above\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n  done\n"
	if got := view(m); !strings.Contains(got, done) {
		t.Errorf("the output of a command that succeeded is not shown:\n%s", got)
	}
	f.show(&session.ShellEnded{CallID: "sh", Output: "a.go\n", ShellEnd: session.ShellEnd{Exit: &two}})
	m.ToggleAll()
	got := view(m)
	for _, want := range []string{
		"thought:\n  I think\n  that", "read a.go (1s)\n  1: package a\n", "✗ ! ls (2s), exit code 2\n  a.go",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// TestAnswersAreShown: a question has its answers below it, whole, and still once it is opened.
func TestAnswersAreShown(t *testing.T) {
	m := newTestModel(t, 40, 20)
	m.SetMessages([]session.Message{&session.Assistant{Content: []session.Content{&session.Tool{
		Name: "question", State: session.ToolState{
			Status: session.ToolCompleted, Input: jsontext.Value(`{"questions":[{"question":"Which database should we use?"}]}`),
			Structured: jsontext.Value(`{"answers":[["Postgres"]]}`), Content: session.TextContent("User has answered"),
		},
	}}}}, nil)
	if got := strings.Join(strings.Fields(view(m)), " "); !strings.HasSuffix(got, "we use? -> Postgres") {
		t.Error(got)
	}
}

// TestTaskReport: the report of a subagent in the background is a line about it, not a prompt; opened it is whole.
func TestTaskReport(t *testing.T) {
	m := newTestModel(t, 60, 20)
	m.SetMessages([]session.Message{&session.User{
		Text:  "<task id=\"ses_2\" state=\"completed\">\n<task_result>\nAll pass.\nIn 3 s.\n</task_result>\n</task>",
		Parts: []session.PromptPart{{Type: session.PartText, Extra: jsontext.Value(`{"synthetic":true}`)}},
	}}, nil)
	if got, want := strings.TrimSpace(view(m)), "the subagent ses_2 reports: All pass.…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Select(-1)
	if m.Toggle(); !strings.Contains(view(m), "  All pass.\n  In 3 s.") {
		t.Error(view(m))
	}
}

// TestFailures: a failed attempt says when the next one starts, and a refused key what helps.
func TestFailures(t *testing.T) {
	m := newTestModel(t, 60, 20)
	f, turn := &feeder{model: m}, session.OfTurn("msg_a")
	retried := &session.Retried{Attempt: 1, Error: session.RetryError{Message: "slow down"}, Next: 7000}
	f.show(retried, &session.StepStarted{TurnFact: turn})
	f.show(&session.StepFailed{TurnFact: turn, Error: *session.Fail(session.ReasonAuth, "invalid key")})
	want := "! slow down; attempt 2 starts in 6s\n\n✗ invalid key; /login stores another key"
	if got := strings.TrimSpace(view(m)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Another stored key does not help where the configuration has one.
	placed := newTestModel(t, 60, 20)
	f = &feeder{model: placed}
	f.show(&session.StepStarted{TurnFact: turn})
	f.show(&session.StepFailed{TurnFact: turn, Error: *session.Fail(session.ReasonAuth, "invalid"+session.KeyPlaceMark+"a:1")})
	if got := strings.TrimSpace(view(placed)); got != "✗ invalid; change the key in a:1" {
		t.Errorf("got %q", got)
	}
	// An answer that broke off has its failure and the reason of the next attempt in one line.
	broken := newTestModel(t, 60, 20)
	f = &feeder{model: broken}
	f.show(&session.StepStarted{TurnFact: turn})
	f.show(&session.StepFailed{TurnFact: turn, Error: *session.Fail("", "slow down")}, retried)
	if got, want := strings.TrimSpace(view(broken)), "! slow down; attempt 2 starts in 4s"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReload checks that a session that is opened again looks as it did while it worked.
func TestReload(t *testing.T) {
	for seed := range uint64(20) {
		live := newTestModel(t, 60, 100)
		f := runWork(live, rand.New(rand.NewPCG(seed, 2)))
		again := newTestModel(t, 60, 100)
		again.SetMessages(f.messages, nil)
		if got, want := view(again), view(live); got != want {
			t.Fatalf("seed %d: opened again:\n%s\nlive:\n%s", seed, got, want)
		}
	}
}

func prompts(from, to int) (ms []session.Message) {
	for i := from; i < to; i++ {
		ms = append(ms, &session.User{
			Head: session.Head{ID: session.MessageID(fmt.Sprint("msg_", i))}, Text: fmt.Sprintf("prompt %d\nmore", i),
		})
	}
	return ms
}

// TestScroll checks that what is on the screen stays there while messages come before and after it.
func TestScroll(t *testing.T) {
	m := newTestModel(t, 40, 7)
	m.SetMessages(prompts(10, 20), nil)
	if got := view(m); !strings.HasSuffix(got, "> prompt 19\n  more") {
		t.Errorf("at first:\n%s", got)
	}
	m.ScrollBy(-4)
	before := view(m)
	m.Prepend(prompts(0, 10))
	f := &feeder{model: m}
	f.show(&session.Prompted{MessageID: "msg_new", Prompt: session.Prompt{Text: "new"}})
	if got := view(m); got != before || m.AtTop() {
		t.Errorf("it moved from\n%s\nto\n%s", before, got)
	}
	m.ScrollBy(-1000)
	top := view(m)
	if !strings.HasPrefix(top, "> prompt 0\n") || !m.AtTop() {
		t.Errorf("at the top:\n%s", top)
	}
	m.ScrollTo(false)
	m.ScrollTo(true)
	if got := view(m); got != top {
		t.Errorf("at the top again:\n%s", got)
	}
	for range 200 {
		m.ScrollBy(1)
	}
	if got := view(m); !strings.HasSuffix(got, "> new") {
		t.Errorf("at the end:\n%s", got)
	}
	m.SetSize(20, 3)
	if got := view(m); !strings.HasSuffix(got, "> new") {
		t.Errorf("after a resize:\n%s", got)
	}
}

// TestTaken checks that what a revert takes back is not shown.
func TestTaken(t *testing.T) {
	m := newTestModel(t, 60, 40)
	ms := prompts(0, 3)
	m.SetMessages(ms, &session.Revert{MessageID: "msg_1", Exclusive: true})
	if got, want := view(m), "> prompt 0\n  more\n\n! what follows is taken back; /redo brings it back"; got != want {
		t.Errorf("got\n%s", got)
	}
	m.SetMessages(ms, &session.Revert{MessageID: "msg_1", FilesOnly: true})
	if got := view(m); !strings.Contains(got, "prompt 2") {
		t.Errorf("only files were taken back, got\n%s", got)
	}
	turn := &session.Assistant{Head: session.Head{ID: "msg_a"}, Content: []session.Content{
		&session.Text{PartID: "prt_1", Text: "kept"}, &session.Text{PartID: "prt_2", Text: "taken"},
	}}
	m.SetMessages([]session.Message{turn}, &session.Revert{MessageID: "msg_a", PartID: "prt_2"})
	if got := view(m); !strings.Contains(got, "kept") || strings.Contains(got, "taken\n") {
		t.Errorf("a part was taken back, got\n%s", got)
	}
}

// TestSelection checks the selection, the search and what can be copied.
func TestSelection(t *testing.T) {
	m := newTestModel(t, 60, 5)
	runWork(m, rand.New(rand.NewPCG(1, 3)))
	if got := m.Copy(transcript.ExcerptMessage); got != answer {
		t.Errorf("the newest message is %q", got)
	}
	if got, want := m.Copy(transcript.ExcerptCode), "func f() {\n\n\treturn 1\n}"; got != want {
		t.Errorf("the newest code is %q", got)
	}
	if got := m.Copy(transcript.ExcerptCommand); got != "ls" {
		t.Errorf("the newest command is %q", got)
	}
	m.Select(-1)
	m.Select(-1)
	if got := m.Copy(transcript.ExcerptCommand); got != "sleep 9" {
		t.Errorf("the selected command is %q", got)
	}
	if n := m.Search("PACKAGE a"); n != 1 {
		t.Errorf("%d hits", n)
	}
	m.SelectHit("package A", true)
	if got := view(m); !strings.Contains(got, "read a.go") || !strings.Contains(got, "1: package a") {
		t.Errorf("the hit is not on the screen:\n%s", got)
	}
	if got := m.SelectedMessage(); got != "msg_a" {
		t.Errorf("selected: %q", got)
	}
	m.EndSelection()
	if got := m.SelectedMessage(); got != "" {
		t.Errorf("still selected: %q", got)
	}
}

// TestHostileText checks that no text reaches the terminal with control characters, and that each line fits.
func TestHostileText(t *testing.T) {
	m := newTestModel(t, 30, 50)
	bad := "\x1b]0;x\x07\x1b[2J漢字\u202e" + strings.Repeat("long", 40) + "\r\n\x9b31m"
	m.SetMessages([]session.Message{
		&session.User{Text: bad, Files: []session.File{{Name: bad, Mime: "image/png"}}},
		&session.Assistant{Content: []session.Content{
			&session.Text{Text: bad}, &session.Reasoning{Text: bad},
			&session.Tool{Name: bad, State: session.ToolState{
				Status: session.ToolError, Input: jsontext.Value(`{"filePath":"\u001b[2J"}`),
				Error: session.Fail("tool", bad),
			}},
		}},
		&session.Shell{Command: bad, Output: bad},
	}, nil)
	m.ToggleAll()
	for line := range strings.SplitSeq(m.View(), "\n") {
		if n := ansi.StringWidth(line); n > 30 {
			t.Errorf("a line of %d cells: %q", n, line)
		}
		if rest := ansi.Strip(line); strings.ContainsFunc(rest, isHostile) || !strings.Contains(rest, "[2J") &&
			strings.Contains(line, "[2J") {
			t.Errorf("control characters: %q", line)
		}
	}
}

func isHostile(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }

// BenchmarkScreen opens a session of 10,000 messages, scrolls it, and streams into it.
func BenchmarkScreen(b *testing.B) {
	var ms []session.Message
	for i := range 5000 {
		ms = append(ms, prompts(i, i+1)...)
		ms = append(ms, &session.Assistant{
			Head:    session.Head{ID: session.MessageID(fmt.Sprint("msg_a", i))},
			Content: []session.Content{&session.Text{PartID: session.PartID(fmt.Sprint("prt_", i)), Text: answer}},
		})
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			m := newTestModel(b, 120, 50)
			m.SetMessages(ms, nil)
			_ = m.View()
		}
	})
	b.Run("scroll", func(b *testing.B) {
		m := newTestModel(b, 120, 50)
		m.SetMessages(ms, nil)
		for b.Loop() {
			m.ScrollBy(-3)
			_ = m.View()
		}
	})
	b.Run("stream", func(b *testing.B) {
		m := newTestModel(b, 120, 50)
		m.SetMessages(ms, nil)
		f := &feeder{model: m}
		f.show(&session.StepStarted{TurnFact: session.OfTurn("msg_x")},
			&session.TextStarted{TurnFact: session.OfTurn("msg_x"), TextID: "t", PartID: "prt_x"})
		text := strings.Repeat(answer, 500)
		at := 0
		for b.Loop() {
			m.ShowFragment(&session.Fragment{
				MessageID: "msg_x", PartID: "prt_x", Item: session.FragmentText, Offset: at, Delta: text[at : at+4],
			})
			at = (at + 4) % (len(text) - 8)
			_ = m.View()
		}
	})
}

// TestLongLines: all of a failure is on the screen, and of an open call its command and its output; both are found.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("word ", 12)
	m := newTestModel(t, 40, 30)
	m.SetMessages([]session.Message{&session.Assistant{Content: []session.Content{
		&session.Tool{Name: "write", State: session.ToolState{
			Status: session.ToolError, Error: &session.Failure{Message: long + "WHY"},
		}},
		&session.Tool{Name: "bash", State: session.ToolState{
			Status: session.ToolCompleted, Input: jsontext.Value(`{"command":"` + long + `COMMAND"}`),
			Structured: jsontext.Value(`{"output":"` + long + `OUTPUT","exit":0}`),
		}},
	}}}, nil)
	if got := view(m); !strings.Contains(got, "WHY") || strings.Contains(got, "OUTPUT") {
		t.Errorf("not open:\n%s", got)
	}
	m.ToggleAll()
	if got := view(m); !strings.Contains(got, "COMMAND") || !strings.Contains(got, "OUTPUT") {
		t.Errorf("open:\n%s", got)
	}
	if n := m.Search("why"); n != 1 {
		t.Errorf("%d hits of the failure", n)
	}
}
