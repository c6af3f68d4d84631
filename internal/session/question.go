package session

import "slices"

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
