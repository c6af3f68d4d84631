package dialog

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed question.md
var questionDescription string

const questionSchema = `{"type":"object","properties":{
"questions":{"type":"array","minItems":1,"maxItems":10,"description":"What you want to know","items":{"type":"object","properties":{
"question":{"type":"string","minLength":1,"maxLength":2000,"description":"The whole question"},
"header":{"type":"string","maxLength":30,"description":"What it is about, in a few words"},
"options":{"type":"array","maxItems":20,"description":"The answers to choose from","items":{"type":"object","properties":{
"label":{"type":"string","minLength":1,"maxLength":100,"description":"The answer, in a few words"},
"description":{"type":"string","maxLength":1000,"description":"What choosing it means"}
},"required":["label"],"additionalProperties":false}},
"multiple":{"type":"boolean","description":"Whether several may be chosen; false if absent"},
"custom":{"type":"boolean","description":"Whether an answer in other words is taken; true if absent"}
},"required":["question","header","options"],"additionalProperties":false}}
},"required":["questions"],"additionalProperties":false}`

type questionTool struct{}

// Definition describes the tool.
func (questionTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "question", Description: strings.TrimSpace(questionDescription), Schema: jsontext.Value(questionSchema),
		Action: tool.ActionQuestion,
	}
}

// Run asks the questions and waits for the answers.
func (questionTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		Questions []session.Question `json:"questions"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	for i, q := range in.Questions {
		if len(q.Options) == 0 && q.Custom != nil && !*q.Custom {
			return tool.Output{}, tool.Failf("Question %d cannot be answered: it has no options and takes no other words.", i+1)
		}
		if q.Options == nil {
			in.Questions[i].Options = []session.Option{}
		}
		if q.AllowsCustom() {
			in.Questions[i].Custom = nil // the default, which OpenCode's asks do not have
		}
	}
	answers, err := call.Question(ctx, in.Questions)
	if err != nil {
		return tool.Output{}, err
	}
	title := "Asked 1 question"
	if n := len(in.Questions); n > 1 {
		title = fmt.Sprintf("Asked %d questions", n)
	}
	return tool.TextOutput(title, formatAnswers(in.Questions, answers), map[string]any{"answers": answers}), nil
}

// formatAnswers returns each question with its answer, for the model.
func formatAnswers(qs []session.Question, answers [][]string) string {
	pairs := make([]string, len(qs))
	for i, q := range qs {
		answer := "Unanswered"
		if i < len(answers) && len(answers[i]) > 0 {
			answer = strings.Join(answers[i], ", ")
		}
		pairs[i] = fmt.Sprintf("%q=%q", q.Question, answer)
	}
	return "User has answered your questions: " + strings.Join(pairs, ", ") +
		". You can now continue with the user's answers in mind."
}
