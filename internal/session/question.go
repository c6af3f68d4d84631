package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Question is a question of the model to the user. The user chooses among options or, unless Custom is false, writes an
// own answer.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header"` // a short title
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

// CheckAnswers returns a CodeInvalid error unless there is one list of answers for each question. An empty list is no
// answer; only a question with Multiple takes more than one.
func CheckAnswers(field string, questions []Question, answers [][]string) error {
	if len(answers) != len(questions) {
		return Errorf(
			CodeInvalid, "got answers to %d of %d questions; give a list for each question, empty for no answer", len(answers),
			len(questions),
		).At(field)
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
				return Errorf(CodeInvalid, "%q is not among the options of question %d", ClipText(a, 40), i+1).At(field)
			}
		}
	}
	return nil
}

// AllowsCustom reports whether the question accepts answers that are not among its options.
func (q Question) AllowsCustom() bool { return q.Custom == nil || *q.Custom }

// ParseAnswer parses a typed answer: numbers or labels of options, separated by commas if the question has Multiple, or
// other text. An empty text is no answer.
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
			return nil, fmt.Errorf("%q is not one of the options", ClipText(p, 40))
		}
	}
	return out, nil
}

// findOption finds an option by label or number.
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
