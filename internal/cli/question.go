package cli

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// showQuestion puts one question to the person, its options numbered.
func showQuestion(out *stream, m marks, s session.Question) {
	out.printf("%s %s\n", out.paint(yellow, m.ask), out.paint(bold, strings.ReplaceAll(harmless(s.Question), "\n", "\n  ")))
	for i, l := range optionLines(s) {
		out.printf("  %d %s\n", i+1, l)
	}
	out.printf("  %s\n", questionChoices(s))
}

func optionLines(s session.Question) []string {
	lines := make([]string, len(s.Options))
	for i, o := range s.Options {
		lines[i] = line(o.Label, 100)
		if o.Description != "" {
			lines[i] += ": " + line(o.Description, 200)
		}
	}
	return lines
}

func questionChoices(s session.Question) string {
	var ways []string
	switch {
	case len(s.Options) > 0 && s.Multiple:
		ways = append(ways, "numbers")
	case len(s.Options) > 0:
		ways = append(ways, "a number")
	}
	if s.TakesWords() {
		ways = append(ways, "your own words")
	}
	return strings.Join(ways, " or ") + "; nothing: no answer, !: dismiss, and stop"
}

// answerQuestion reads a line as the answer to the next question of the ask on the screen. The ask is answered when all
// its questions are.
func (q *askQueue) answerQuestion(a session.PendingAsk, text string) (ans answer, ok bool) {
	text = strings.TrimSpace(text)
	if text == "!" {
		q.pending, q.given = q.pending[1:], nil
		q.show()
		return answer{ask: a, reply: session.ReplyReject}, true
	}
	question := a.Questions[len(q.given)]
	chosen, err := question.Chosen(text)
	if err != nil {
		q.out.printf("  %s: %s\n", err, questionChoices(question))
		q.prompt()
		return answer{}, false
	}
	q.given = append(q.given, chosen)
	if len(q.given) < len(a.Questions) {
		q.show()
		return answer{}, false
	}
	ans = answer{ask: a, reply: session.ReplyOnce, answers: q.given}
	q.pending, q.given = q.pending[1:], nil
	q.show()
	return ans, true
}
