package dialog

import (
	"fmt"
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

// TestLowScreen: on any screen a request shows what it is about and the option that Enter takes, and no more lines than
// fit; page keys leave no line out.
func TestLowScreen(t *testing.T) {
	send := func(term.Answer) tea.Cmd { return nil }
	ask := session.PendingAsk{Action: "bash", Agent: "build", Resources: []string{"make"}, Save: []string{"make"}}
	question := session.PendingAsk{Questions: []session.Question{{
		Question: "Which? " + strings.Repeat("because ", 60), Options: []session.Option{{Label: "left"}, {Label: "right"}},
	}}}
	for height := 2; height < 30; height++ {
		d, f := NewAsk(ask, send), NewForm(question, send)
		for i := range 30 {
			d.Reason += fmt.Sprintf("r%d ", i)
		}
		for range 3 {
			for title, lines := range map[string][]string{
				"build asks": d.RenderLines(style.Theme{}, 30, height), "Which?": f.RenderLines(style.Theme{}, 30, height),
			} {
				text := strings.Join(lines, "\n")
				if len(lines) > height || !strings.HasPrefix(text, title) || !strings.Contains(text, "\n> ") {
					t.Errorf("%d lines:\n%s", height, text)
				}
			}
			d.PressKey(tea.KeyPressMsg{Code: tea.KeyDown})
			f.PressKey(tea.KeyPressMsg{Code: tea.KeyDown})
		}
	}
	for _, height := range []int{2, 5, 9} {
		ask.Resources = nil
		for i := range 20 {
			ask.Resources = append(ask.Resources, fmt.Sprintf("make %02d", i))
		}
		d, seen := NewAsk(ask, send), ""
		for range 30 {
			seen += strings.Join(d.RenderLines(style.Theme{}, 30, height), "\n")
			d.PressKey(tea.KeyPressMsg{Code: tea.KeyPgDown})
		}
		for _, r := range ask.Resources {
			if !strings.Contains(seen, r) {
				t.Errorf("%d lines: %q is never shown", height, r)
			}
		}
	}
}
