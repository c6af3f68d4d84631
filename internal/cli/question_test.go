package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestChosen(t *testing.T) {
	options := []session.Option{{Label: "Red"}, {Label: "Blue, dark"}, {Label: "7"}}
	one := session.Question{Options: options}
	some := session.Question{Options: options, Multiple: true}
	closed := session.Question{Options: options, Custom: new(bool)}
	for _, tt := range []struct {
		q    session.Question
		text string
		want []string // nil: refused
	}{
		{one, "1", []string{"Red"}},
		{one, "red", []string{"Red"}},
		{one, "7", []string{"7"}},
		{one, "2", []string{"Blue, dark"}},
		{one, "4", []string{"4"}},
		{one, "green, or so", []string{"green, or so"}},
		{one, "", []string{}},
		{some, "1, 3,1", []string{"Red", "7"}},
		{some, "1, pink", []string{"1, pink"}},
		{closed, "3", []string{"7"}},
		{closed, "4", nil},
		{closed, "pink", nil},
	} {
		got, err := chosen(tt.q, tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
		if err == nil && session.CheckAnswers("", []session.Question{tt.q}, [][]string{got}) != nil {
			t.Errorf("%q: %v would be refused", tt.text, got)
		}
	}
	if _, err := allChosen([]session.Question{one, some}, []string{"1"}); err == nil {
		t.Error("one answer for two questions")
	}
}

func TestQuestionsAtTheTerminal(t *testing.T) {
	a, _ := paper()
	typing, fingers := io.Pipe()
	tty := &fakeTerminal{Reader: typing}
	q := newQuestioner(a, tty)
	defer q.close()
	line := func(s string) (answer, bool) {
		go func() { _, _ = io.WriteString(fingers, s) }() // ends when the questioner has read it
		return q.typed(<-q.lines)
	}
	ask := session.PendingAsk{ID: "que_1", Action: "question", Questions: []session.Question{
		{Question: "Which colour?\x1b[2J", Options: []session.Option{{Label: "Red"}, {Label: "Blue", Description: "cold"}}},
		{Question: "Why?"},
	}}
	q.ask(ask)
	ask.ID = "que_2"
	q.ask(ask)
	if _, ok := line("2\n"); ok {
		t.Error("one of two answers is taken for all")
	}
	got, ok := line("because\n")
	if diff := cmp.Diff([][]string{{"Blue"}, {"because"}}, got.answers); diff != "" || !ok || got.ask.ID != "que_1" {
		t.Error(diff, got, ok)
	}
	if got, ok = line("!\n"); !ok || got.ask.ID != "que_2" || got.reply != session.ReplyReject {
		t.Error(got, ok)
	}
	want := `? Which colour?�[2J
  1 Red
  2 Blue: cold
  a number or your own words; nothing: no answer, !: dismiss, and stop
  > ? Why?
  your own words; nothing: no answer, !: dismiss, and stop
  > ? Which colour?�[2J
  1 Red
  2 Blue: cold
  a number or your own words; nothing: no answer, !: dismiss, and stop
  > `
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(tty.shown.String(), "\n")); d != "" {
		t.Error(d)
	}
}
