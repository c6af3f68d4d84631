package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Question is one that the model puts to the people it works for. They choose among options, or, unless Custom is false,
// say it in their own words.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header"` // a few words, where there is little room
	Options  []Option `json:"options"`
	Multiple bool     `json:"multiple,omitzero"` // several options may be chosen
	Custom   *bool    `json:"custom,omitzero"`
}

// Option is an answer that a Question offers. The label is the answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

const maxAnswer = 10_000

// CheckAnswers returns a CodeInvalid error unless there is one list of answers for each question: empty for none, and of
// one unless several may be chosen.
func CheckAnswers(field string, questions []Question, answers [][]string) error {
	if len(answers) != len(questions) {
		return Errorf(CodeInvalid, "%d questions were asked and %d answered; give a list for each, an empty one for no answer", len(questions), len(answers)).At(field)
	}
	for i, q := range questions {
		if len(answers[i]) > 1 && !q.Multiple {
			return Errorf(CodeInvalid, "question %d takes one answer, got %d", i+1, len(answers[i])).At(field)
		}
		for _, a := range answers[i] {
			offered := slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label == a })
			switch {
			case a == "" || len(a) > maxAnswer:
				return Errorf(CodeInvalid, "an answer to question %d is empty or longer than %d bytes", i+1, maxAnswer).At(field)
			case !offered && q.Custom != nil && !*q.Custom:
				return Errorf(CodeInvalid, "%q is not among the options of question %d", clip(a, 40), i+1).At(field)
			}
		}
	}
	return nil
}

// AllowsCustom reports whether the question can be answered in one's own words.
func (q Question) AllowsCustom() bool { return q.Custom == nil || *q.Custom }

// ParseAnswer reads a line that was typed as the answer: numbers or labels of options, separated by commas if several may be
// chosen, or other words. Nothing is no answer.
func (q Question) ParseAnswer(text string) ([]string, error) {
	out := []string{}
	if text == "" {
		return out, nil
	}
	parts := []string{text}
	if q.Multiple {
		parts = strings.Split(text, ",")
	}
	for _, p := range parts {
		label, known := q.findOption(strings.TrimSpace(p))
		switch {
		case known && !slices.Contains(out, label):
			out = append(out, label)
		case known:
		case q.AllowsCustom():
			return []string{text}, nil // with its commas
		default:
			return nil, fmt.Errorf("%q is not one of them", clip(p, 40))
		}
	}
	return out, nil
}

// findOption finds an option by its label or its number.
func (q Question) findOption(word string) (label string, ok bool) {
	for _, o := range q.Options {
		if strings.EqualFold(o.Label, word) {
			return o.Label, true
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Label, true
	}
	return "", false
}
