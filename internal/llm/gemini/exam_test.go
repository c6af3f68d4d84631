package gemini_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

func TestExam(t *testing.T) {
	for _, model := range []string{"gemini-2.5-pro", "gemini-3-pro-preview"} {
		t.Run(model, func(t *testing.T) {
			llmtest.Exam{
				Encode: gemini.Dialect{}.Encode, Model: model, Check: acceptable,
				Metadata: func(*rand.Rand) llm.Metadata { return ours(`"thoughtSignature":"s"`) },
				Conversation: func(body []byte) ([]byte, error) {
					contents, _, ok := bytes.Cut(body, []byte(`]}],"systemInstruction":`))
					if !ok {
						return nil, errors.New("the contents do not end where the system texts begin")
					}
					return contents, nil
				},
			}.Run(t)
		})
	}
}

type checkedPart struct {
	Text                *string
	InlineData          jsontext.Value
	FileData            jsontext.Value
	ExecutableCode      jsontext.Value
	CodeExecutionResult jsontext.Value
	FunctionCall        *struct {
		Name string
		Args jsontext.Value
	}
	FunctionResponse *struct{ Name string }
}

// acceptable holds a body to what the generateContent endpoint insists on.
func acceptable(body []byte) error {
	var b struct {
		Contents []struct {
			Role  string
			Parts []checkedPart
		}
		Tools      []jsontext.Value
		ToolConfig jsontext.Value
	}
	if err := json.Unmarshal(body, &b, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if b.ToolConfig != nil && len(b.Tools) == 0 {
		return errors.New("a choice without tools")
	}
	var called []string
	role, results := "", false
	for i, c := range b.Contents {
		if c.Role != "user" && c.Role != "model" || len(c.Parts) == 0 {
			return fmt.Errorf("content %d of %q has %d parts", i, c.Role, len(c.Parts))
		}
		if c.Role == role && !results && len(called) == 0 {
			return fmt.Errorf("content %d repeats the role %s", i, role)
		}
		asked := called
		called = nil
		var answered []string
		for _, p := range c.Parts {
			if err := p.check(); err != nil {
				return fmt.Errorf("content %d: %w", i, err)
			}
			if p.FunctionCall != nil {
				called = append(called, p.FunctionCall.Name)
			}
			if p.FunctionResponse != nil {
				answered = append(answered, p.FunctionResponse.Name)
			}
		}
		if fmt.Sprint(asked) != fmt.Sprint(answered) {
			return fmt.Errorf("content %d answers %v, and %v were called", i, answered, asked)
		}
		role, results = c.Role, len(answered) > 0
	}
	if len(called) > 0 {
		return fmt.Errorf("no results of %v", called)
	}
	return nil
}

func (p checkedPart) check() error {
	kinds := 0
	for _, is := range []bool{
		p.Text != nil, p.InlineData != nil, p.FileData != nil, p.ExecutableCode != nil, p.CodeExecutionResult != nil,
		p.FunctionCall != nil, p.FunctionResponse != nil,
	} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf("a part of %d kinds", kinds)
	case p.FunctionCall != nil && (llmtest.CheckToolName(p.FunctionCall.Name) != nil || p.FunctionCall.Args.Kind() != '{'):
		return fmt.Errorf("bad call %+v", p.FunctionCall)
	case p.FunctionResponse != nil && p.FunctionResponse.Name == "":
		return errors.New("a result without a name")
	}
	return nil
}
