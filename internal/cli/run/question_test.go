package run

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

func TestQuestionsAtTheTerminal(t *testing.T) {
	typing, fingers := io.Pipe()
	tty := &fakeTerminal{Reader: typing}
	q := NewTerminalAsks(tty, terminal.NewMarks(utf8Env), false)
	defer q.Close()
	line := func(s string) (follow.Answer, bool) {
		go func() { _, _ = io.WriteString(fingers, s) }() // ends when the questioner has read it
		return q.AnswerLine(<-q.Lines)
	}
	ask := session.PendingAsk{ID: "que_1", Action: "question", Questions: []session.Question{
		{
			Question: "Which colour?\x1b[2J",
			Options:  []session.Option{{Label: "Red"}, {Label: "Blue", Description: "cold"}},
		},
		{Question: "Why?"},
	}}
	q.Add(ask)
	ask.ID = "que_2"
	q.Add(ask)
	if _, ok := line("2\n"); ok {
		t.Error("one of two answers is taken for all")
	}
	got, ok := line("because\n")
	if diff := cmp.Diff([][]string{{"Blue"}, {"because"}}, got.Answers); diff != "" || !ok || got.Ask.ID != "que_1" {
		t.Error(diff, got, ok)
	}
	if got, ok = line("!\n"); !ok || got.Ask.ID != "que_2" || got.Reply != session.ReplyReject {
		t.Error(got, ok)
	}
	want := `? Which colour?�[2J
  1 Red
  2 Blue: cold
  a number or your own words; Enter: no answer; !: dismiss and stop
  > ? Why?
  your own words; Enter: no answer; !: dismiss and stop
  > ? Which colour?�[2J
  1 Red
  2 Blue: cold
  a number or your own words; Enter: no answer; !: dismiss and stop
  > `
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(tty.shown.String(), "\n")); d != "" {
		t.Error(d)
	}
}
