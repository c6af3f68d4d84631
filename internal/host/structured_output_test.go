package host_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
	"github.com/cairn-dev/cairn/internal/tool"
)

type schemaTree = map[string]any

// Whatever schema people write, what a vendor is asked to hold answers to is within what its documentation says that it
// takes, and what the vendor can answer then is what they asked for.
func TestFormsHeld(t *testing.T) {
	openai := llmtest.SchemaRules{AllRequired: true, Recursion: true}
	vendors := []struct {
		name  string
		rules llmtest.SchemaRules
		sent  func(*testing.T, jsontext.Value) schemaTree // nil: it is not held
	}{
		{"responses", openai, func(t *testing.T, f jsontext.Value) schemaTree {
			format := at(t, encoded(t, openairesponses.Dialect{}, "gpt-5", f), "text", "format")
			return held(format, format["strict"] == true)
		}},
		{"chat", openai, func(t *testing.T, f jsontext.Value) schemaTree {
			format := at(t, encoded(t, openaichat.Dialect{}, "gpt-5", f), "response_format", "json_schema")
			return held(format, format["strict"] == true)
		}},
		{"anthropic", llmtest.SchemaRules{Optional: 24, Unions: 16}, func(t *testing.T, f jsontext.Value) schemaTree {
			body := encoded(t, anthropic.Dialect{NativeFormat: true}, "claude-sonnet-4-5", f)
			config, native := body["output_config"].(schemaTree)
			if !native {
				return nil
			}
			return held(at(t, config, "format"), true)
		}},
	}
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			natively := 0
			for range 1500 {
				raw, form := formOf(t, r)
				if form == nil {
					continue
				}
				sent := v.sent(t, raw)
				if sent == nil {
					continue
				}
				natively++
				if broken := v.rules.FindViolation(sent); broken != "" {
					t.Fatalf("%s\n%s\n%s", broken, raw, written(t, sent))
				}
				value, ends := llmtest.RandomAnswer(r, sent)
				answer := written(t, value)
				if _, err := form.Validate(answer); err != nil && ends {
					t.Fatalf("%v\n%s\n%s\n%s", err, answer, raw, written(t, sent))
				}
			}
			if natively < 100 {
				t.Errorf("%d schemas only are held", natively)
			}
		})
	}
}

// What Gemini is sent natively has cycles only where they can be left out, and nothing beside a reference.
func TestFormsHeldByGemini(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	natively := 0
	for range 1500 {
		raw, form := formOf(t, r)
		if form == nil || !(gemini.Dialect{}).SupportsSchema(raw) {
			continue
		}
		natively++
		sent := at(t, encoded(t, gemini.Dialect{}, "gemini-3-pro", raw), "generationConfig", "responseJsonSchema")
		if broken := llmtest.FindUnrollProblem(sent); broken != "" {
			t.Fatalf("%s\n%s\n%s", broken, raw, written(t, sent))
		}
	}
	if natively < 100 {
		t.Errorf("%d schemas only are held", natively)
	}
}

func formOf(t *testing.T, r *rand.Rand) (jsontext.Value, *tool.AnswerSchema) {
	t.Helper()
	raw := written(t, llmtest.RandomSchema(r))
	form, err := tool.NewAnswerSchema(raw)
	if err != nil {
		return nil, nil // it can be fitted by nothing
	}
	return raw, form
}

func encoded(t *testing.T, p interface {
	Encode(req *llm.Request) ([]byte, error)
}, model string, format jsontext.Value,
) (body schemaTree) {
	t.Helper()
	raw, err := p.Encode(
		&llm.Request{
			Model:        model,
			OutputSchema: format,
			Messages:     []llm.Message{llmtest.UserMessage(llmtest.TextPart("hi"))},
		},
	)
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func at(t *testing.T, body schemaTree, path ...string) schemaTree {
	t.Helper()
	for _, name := range path {
		inner, ok := body[name].(schemaTree)
		if !ok {
			t.Fatalf("no %s in %v", name, body)
		}
		body = inner
	}
	return body
}

func held(format schemaTree, strict bool) schemaTree {
	if !strict {
		return nil
	}
	return format["schema"].(schemaTree)
}

func written(t *testing.T, v any) jsontext.Value {
	t.Helper()
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
