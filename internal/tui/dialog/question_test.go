package dialog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestFormFoot: the last line of a form says which question it is, and that no answer is given without words.
func TestFormFoot(t *testing.T) {
	options := []session.Option{{Label: "left"}}
	f := NewForm(session.PendingAsk{Questions: []session.Question{
		{Question: "Which?", Options: options}, {Question: "And then?", Options: options},
	}}, func(follow.Answer) tea.Cmd { return nil })
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
	var sent []follow.Answer
	f := NewForm(session.PendingAsk{Questions: []session.Question{
		{Question: "Which?", Options: options}, {Question: "And?", Options: options, Multiple: true},
	}}, func(a follow.Answer) tea.Cmd { sent = append(sent, a); return nil })
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

// TestUseOfKeys: a digit answers a question also from the keypad; other text belongs to a prompt.
func TestUseOfKeys(t *testing.T) {
	f := NewForm(session.PendingAsk{Questions: []session.Question{{
		Question: "Which?", Options: []session.Option{{Label: "red"}},
	}}}, nil)
	for want, keys := range map[KeyUse][]tea.KeyPressMsg{
		Answers:   {{Code: '1', Text: "1"}, {Code: tea.KeyKp1, Text: "1"}},
		ForDialog: {{Code: tea.KeyEnter}, {Code: tea.KeyUp}},
		ForPrompt: {
			{Code: '9', Text: "9"},
			{Code: 'x', Text: "x"},
			{Code: '1', ShiftedCode: '!', Mod: tea.ModShift, Text: "!"},
			{Code: tea.KeySpace, Text: " "},
		},
	} {
		for _, k := range keys {
			if got := f.UseOf(k); got != want {
				t.Errorf("%q: %v, want %v", k.String(), got, want)
			}
		}
	}
}

// TestLowScreen: on any screen a request shows what it is about and the option that Enter takes, and no more lines than
// fit; page keys leave no line out.
func TestLowScreen(t *testing.T) {
	send := func(follow.Answer) tea.Cmd { return nil }
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

// TestFormBack: left opens the question before with the answer that was given.
func TestFormBack(t *testing.T) {
	options := []session.Option{{Label: "red"}, {Label: "blue"}}
	var sent []follow.Answer
	f := NewForm(session.PendingAsk{Questions: []session.Question{
		{Question: "One?", Options: options},
		{Question: "Several?", Options: options, Multiple: true},
		{Question: "Own?", Options: options},
		{Question: "Last?", Options: options},
	}}, func(a follow.Answer) tea.Cmd { sent = append(sent, a); return nil })
	enter, left := tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyLeft}
	type keys []tea.KeyPressMsg
	for _, k := range slices.Concat(
		keys{left, {Code: '2', Text: "2"}},                                 // blue
		keys{{Code: '1', Text: "1"}, {Code: '2', Text: "2"}, enter},        // red, blue
		keys{{Code: '3', Text: "3"}, {Code: 'x', Text: "x"}, enter},        // x
		keys{left, left, {Code: tea.KeyEnd}, {Code: 'y', Text: "y"}, left}, // in own words left moves the cursor
		keys{enter, left},
	) {
		f.PressKey(k)
	}
	lines := strings.Join(f.RenderLines(style.Theme{}, 80, 20), "\n")
	if !strings.Contains(lines, "your own words: xy") {
		t.Errorf("the own answer is not open:\n%s", lines)
	}
	for _, k := range slices.Concat(
		keys{{Code: tea.KeyUp}, left, left, enter}, // one answer is as it was
		keys{{Code: tea.KeySpace}, enter, enter},   // not red; the own words as they were
		keys{{Code: '1', Text: "1"}},
	) {
		f.PressKey(k)
	}
	want := [][]string{{"blue"}, {"blue"}, {"xy"}, {"red"}}
	if len(sent) != 1 || !slices.EqualFunc(sent[0].Answers, want, slices.Equal) {
		t.Errorf("%+v, want %v", sent, want)
	}
}

// TestLongOptions: an option that is wider than the screen is shown whole, below its label.
func TestLongOptions(t *testing.T) {
	about := strings.TrimSpace(strings.Repeat("because ", 24))
	f := NewForm(session.PendingAsk{Questions: []session.Question{{
		Question: "Which?", Options: []session.Option{{Label: "left", Description: about}, {Label: "right"}},
	}}}, func(follow.Answer) tea.Cmd { return nil })
	lines := f.RenderLines(style.Theme{}, 40, 20)
	if got := strings.Count(strings.Join(lines, " "), "because"); got != 24 {
		t.Errorf("%d of 24 words:\n%s", got, strings.Join(lines, "\n"))
	}
	for _, l := range lines[2:6] {
		if !strings.HasPrefix(l, "    because") {
			t.Errorf("%q is not below the label", l)
		}
	}
}
