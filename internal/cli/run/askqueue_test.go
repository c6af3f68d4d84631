package run

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

func TestParseAnswer(t *testing.T) {
	for _, tt := range []struct {
		text string
		want follow.Answer
		ok   bool
	}{
		{"y\n", follow.Answer{Reply: session.ReplyOnce}, true},
		{" YES \n", follow.Answer{Reply: session.ReplyOnce}, true},
		{"a\n", follow.Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeProject}, true},
		{"s\n", follow.Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeSession}, true},
		{"n\n", follow.Answer{Reply: session.ReplyReject}, true},
		{"no use the other file\n", follow.Answer{Reply: session.ReplyReject, Message: "use the other file"}, true},
		{"\n", follow.Answer{}, false},
		{"yes please\n", follow.Answer{}, false},
		{"always, please\n", follow.Answer{}, false},
		{"what?\n", follow.Answer{}, false},
	} {
		got, ok := parseAnswer(tt.text)
		if ok != tt.ok || ok && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("parseAnswer(%q) = %+v, %v", tt.text, got, ok)
		}
	}
}

func utf8Env(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }

// fakeTerminal is typed on through a pipe and read from a buffer.
type fakeTerminal struct {
	io.Reader
	shown bytes.Buffer
}

func (f *fakeTerminal) Write(p []byte) (int, error) { return f.shown.Write(p) }
func (f *fakeTerminal) Close() error                { return nil }

func TestQuestioner(t *testing.T) {
	typing, fingers := io.Pipe()
	tty := &fakeTerminal{Reader: typing}
	q := NewTerminalAsks(tty, terminal.NewMarks(utf8Env), false)
	defer q.Close()
	ask := func(id session.AskID, save ...string) session.PendingAsk {
		return session.PendingAsk{
			ID: id, SessionID: "ses_1", Action: "edit", Resources: []string{"a.txt"}, Save: save, Agent: "build",
			Metadata: jsontext.Value(`{"diff":"--- a.txt\n-foo\n+bar\u001b[2J\n"}`),
		}
	}
	q.Add(ask("per_1", "edit"))
	q.Add(ask("per_1", "edit")) // added twice, shown once
	q.Add(ask("per_2"))
	q.Add(ask("per_3"))
	q.Add(ask("per_4"))
	line := func(s string) (follow.Answer, bool) {
		go func() { _, _ = io.WriteString(fingers, s) }() // ends when the questioner has read it
		return q.AnswerLine(<-q.Lines)
	}
	if _, ok := line("huh\n"); ok {
		t.Error("nonsense is an answer")
	}
	if got, ok := line("a\n"); !ok || got.Ask.ID != "per_1" || got.Reply != session.ReplyAlways {
		t.Errorf("got %+v, %v", got, ok)
	}
	q.ShowNext(func(a session.PendingAsk) bool { return a.ID == "per_2" }) // never on the screen
	q.Remove("per_3", "user")                                              // answered in another terminal
	if got, ok := line("n not now\n"); !ok || got.Ask.ID != "per_4" || got.Reply != session.ReplyReject ||
		got.Message != "not now" {
		t.Errorf("got %+v, %v", got, ok)
	}
	want := `? build asks for edit: a.txt
  --- a.txt
  -foo
  +bar�[2J
  y: once, s: always in this session, a: always in this project until revoked; s and a are for edit edit, n: reject and stop, n REASON: reject and continue
  >   y: once, s: always in this session, a: always in this project until revoked; s and a are for edit edit, n: reject and stop, n REASON: reject and continue
  > ? build asks for edit: a.txt
  --- a.txt
  -foo
  +bar�[2J
  y: once, n: reject and stop, n REASON: reject and continue
  > 
  answered elsewhere
? build asks for edit: a.txt
  --- a.txt
  -foo
  +bar�[2J
  y: once, n: reject and stop, n REASON: reject and continue
  > `
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(tty.shown.String(), "\n")); d != "" {
		t.Error(d)
	}
}

// A command is asked for once together with its file: the person saw it whole. Another call, another command and an ask
// that only a person may allow are put to the person.
func TestCommandIsAskedOnce(t *testing.T) {
	ask := func(action, part, command string, firm bool) session.PendingAsk {
		return session.PendingAsk{
			ID: "per_1", Action: action, Resources: []string{"a"}, Firm: firm,
			Source:   &session.AskSource{PartID: session.PartID(part)},
			Metadata: jsontext.Value(`{"command":"` + command + `"}`),
		}
	}
	for _, c := range []struct {
		typed string
		next  session.PendingAsk
		want  bool
	}{
		{"y", ask("bash", "prt_1", "ls > a", false), true},
		{"n not here", ask("bash", "prt_1", "ls > a", false), false},
		{"y", ask("bash", "prt_2", "ls > a", false), false},
		{"y", ask("bash", "prt_1", "rm a", false), false},
		{"y", ask("bash", "prt_1", "ls > a", true), false},
		{"y", ask("read", "prt_1", "ls > a", false), false},
	} {
		q := &AskQueue{Out: terminal.NewTerminalStream(&bytes.Buffer{}, false), Marks: terminal.NewMarks(utf8Env)}
		q.Add(ask("edit", "prt_1", "ls > a", false))
		if _, ok := q.Answer(c.typed); !ok {
			t.Fatal(c.typed)
		}
		if ans, ok := q.AnswerApproved(c.next); ok != c.want || ok && ans.Reply != session.ReplyOnce {
			t.Errorf("after %q, %+v: %+v, %v", c.typed, c.next, ans, ok)
		}
	}
}
