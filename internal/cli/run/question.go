package run

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// showQuestion puts one question to the person, its options numbered.
func showQuestion(out *terminal.Stream, m terminal.Marks, s session.Question) {
	out.Printf(
		"%s %s\n",
		out.PaintText(terminal.Yellow, m.Ask),
		out.PaintText(terminal.Bold, strings.ReplaceAll(terminal.ReplaceControls(s.Question), "\n", "\n  ")),
	)
	for i, l := range describe.OptionLines(s) {
		out.Printf("  %d %s\n", i+1, l)
	}
	out.Printf("  %s\n", describe.QuestionChoices(s))
}

// answerQuestion reads a line as the answer to the next question of the ask on the screen. The ask is answered when all
// its questions are.
func (q *AskQueue) answerQuestion(a session.PendingAsk, text string) (ans follow.Answer, ok bool) {
	text = strings.TrimSpace(text)
	if text == "!" {
		q.takeAnswered(session.ReplyReject)
		return follow.Answer{Ask: a, Reply: session.ReplyReject}, true
	}
	question := a.Questions[len(q.given)]
	chosen, err := question.ParseAnswer(text)
	if err != nil {
		q.Out.Printf("  %s: %s\n", err, describe.QuestionChoices(question))
		q.prompt()
		return follow.Answer{}, false
	}
	q.given = append(q.given, chosen)
	if len(q.given) < len(a.Questions) {
		q.show()
		return follow.Answer{}, false
	}
	ans = follow.Answer{Ask: a, Reply: session.ReplyOnce, Answers: q.given}
	q.takeAnswered(ans.Reply)
	return ans, true
}
