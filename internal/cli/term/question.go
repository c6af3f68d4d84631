package term

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// showQuestion puts one question to the person, its options numbered.
func showQuestion(out *Stream, m Marks, s session.Question) {
	out.Printf(
		"%s %s\n",
		out.PaintText(Yellow, m.Ask),
		out.PaintText(Bold, strings.ReplaceAll(ReplaceControls(s.Question), "\n", "\n  ")),
	)
	for i, l := range OptionLines(s) {
		out.Printf("  %d %s\n", i+1, l)
	}
	out.Printf("  %s\n", QuestionChoices(s))
}

func OptionLines(s session.Question) []string {
	lines := make([]string, len(s.Options))
	for i, o := range s.Options {
		lines[i] = FirstLine(o.Label, 100)
		if o.Description != "" {
			lines[i] += ": " + FirstLine(o.Description, 200)
		}
	}
	return lines
}

func QuestionChoices(s session.Question) string {
	var ways []string
	switch {
	case len(s.Options) > 0 && s.Multiple:
		ways = append(ways, "numbers")
	case len(s.Options) > 0:
		ways = append(ways, "a number")
	}
	if s.AllowsCustom() {
		ways = append(ways, "your own words")
	}
	return strings.Join(ways, " or ") + "; Enter: no answer; !: dismiss and stop"
}

// answerQuestion reads a line as the answer to the next question of the ask on the screen. The ask is answered when all
// its questions are.
func (q *AskQueue) answerQuestion(a session.PendingAsk, text string) (ans Answer, ok bool) {
	text = strings.TrimSpace(text)
	if text == "!" {
		q.takeAnswered(session.ReplyReject)
		return Answer{Ask: a, Reply: session.ReplyReject}, true
	}
	question := a.Questions[len(q.given)]
	chosen, err := question.ParseAnswer(text)
	if err != nil {
		q.Out.Printf("  %s: %s\n", err, QuestionChoices(question))
		q.prompt()
		return Answer{}, false
	}
	q.given = append(q.given, chosen)
	if len(q.given) < len(a.Questions) {
		q.show()
		return Answer{}, false
	}
	ans = Answer{Ask: a, Reply: session.ReplyOnce, Answers: q.given}
	q.takeAnswered(ans.Reply)
	return ans, true
}
