package dialog

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// TestFormFoot: the last line of a form says which question it is, and that no answer is given without words.
func TestFormFoot(t *testing.T) {
	options := []session.Option{{Label: "left"}}
	f := NewForm(session.PendingAsk{Questions: []session.Question{
		{Question: "Which?", Options: options}, {Question: "And then?", Options: options},
	}}, func(term.Answer) tea.Cmd { return nil })
	foot := func() string {
		lines := f.RenderLines(style.Theme{}, 80, 20)
		return lines[len(lines)-1]
	}
	if got := foot(); !strings.Contains(got, "question 1 of 2  enter: answer") {
		t.Errorf("got %q", got)
	}
	f.PressKey(tea.KeyPressMsg{Code: tea.KeyEnter})
	f.PressKey(tea.KeyPressMsg{Code: tea.KeyDown})
	if got := foot(); !strings.Contains(got, "question 2 of 2  enter: give no answer") {
		t.Errorf("got %q", got)
	}
}

// TestDigitAnswers: the digit of an option answers a question that has one answer, and chooses for one that has
// several.
func TestDigitAnswers(t *testing.T) {
	options := []session.Option{{Label: "red"}, {Label: "blue"}}
	var sent []term.Answer
	f := NewForm(session.PendingAsk{Questions: []session.Question{
		{Question: "Which?", Options: options}, {Question: "And?", Options: options, Multiple: true},
	}}, func(a term.Answer) tea.Cmd { sent = append(sent, a); return nil })
	for _, k := range []tea.KeyPressMsg{
		{Code: '2', Text: "2"}, {Code: '1', Text: "1"}, {Code: '2', Text: "2"}, {Code: tea.KeyEnter},
	} {
		f.PressKey(k)
	}
	want := [][]string{{"blue"}, {"red", "blue"}}
	if len(sent) != 1 || !slices.EqualFunc(sent[0].Answers, want, slices.Equal) {
		t.Errorf("%+v, want %v", sent, want)
	}
}
