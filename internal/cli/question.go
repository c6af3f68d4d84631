package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// showQuestion puts one question to the person, its options numbered.
func (q *questioner) showQuestion(s session.Question) {
	q.out.printf("%s %s\n", q.out.paint(yellow, q.marks.ask), q.out.paint(bold, strings.ReplaceAll(harmless(s.Question), "\n", "\n  ")))
	for i, l := range optionLines(s) {
		q.out.printf("  %d %s\n", i+1, l)
	}
	q.out.printf("  %s\n", questionChoices(s))
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
	if takesWords(s) {
		ways = append(ways, "your own words")
	}
	return strings.Join(ways, " or ") + "; nothing: no answer, !: dismiss, and stop"
}

func takesWords(s session.Question) bool { return s.Custom == nil || *s.Custom }

// answered takes a line as the answer to the next question of the ask on the screen. The ask is answered when all are.
func (q *questioner) answered(a session.PendingAsk, text string) (ans answer, ok bool) {
	text = strings.TrimSpace(text)
	if text == "!" {
		q.queue, q.given = q.queue[1:], nil
		q.show()
		return answer{ask: a, reply: session.ReplyReject}, true
	}
	given, err := chosen(a.Questions[len(q.given)], text)
	if err != nil {
		q.out.printf("  %s\n", err)
		q.prompt()
		return answer{}, false
	}
	q.given = append(q.given, given)
	if len(q.given) < len(a.Questions) {
		q.show()
		return answer{}, false
	}
	ans = answer{ask: a, reply: session.ReplyOnce, answers: q.given}
	q.queue, q.given = q.queue[1:], nil
	q.show()
	return ans, true
}

// chosen reads an answer: numbers or labels of options, separated by commas if several may be chosen, or other words.
func chosen(s session.Question, text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	parts := []string{text}
	if s.Multiple {
		parts = strings.Split(text, ",")
	}
	out := []string{}
	for _, p := range parts {
		label, known := option(s, strings.TrimSpace(p))
		switch {
		case known && !slices.Contains(out, label):
			out = append(out, label)
		case known:
		case takesWords(s):
			return []string{text}, nil // with its commas
		default:
			return nil, fmt.Errorf("%q is not one of them: %s", line(p, 40), questionChoices(s))
		}
	}
	return out, nil
}

// option finds an option by its number or its label.
func option(s session.Question, word string) (label string, ok bool) {
	for _, o := range s.Options {
		if strings.EqualFold(o.Label, word) {
			return o.Label, true
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(s.Options) {
		return s.Options[n-1].Label, true
	}
	return "", false
}
