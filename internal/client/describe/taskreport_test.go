package describe_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestPromptLine: a prompt, also one that waits, is shown by its first line; the report of a subagent by a line about it.
func TestPromptLine(t *testing.T) {
	t.Parallel()
	report := "<task id=\"ses_2\" state=\"completed\">\n<task_result>\nAll pass.\n</task_result>\n</task>"
	synthetic := []session.PromptPart{{Extra: jsontext.Value(`{"synthetic":true}`)}}
	for name, c := range map[string]struct {
		text  string
		parts []session.PromptPart
		want  string
	}{
		"prompt":           {"fix it\nnow", nil, "fix it…"},
		"report":           {report, synthetic, "the subagent ses_2 reports: All pass."},
		"report in quotes": {report, nil, `<task id="ses_2" state="completed">…`},
	} {
		u := &session.User{Text: c.text, Parts: c.parts}
		in := &session.Input{Prompt: session.Prompt{Text: c.text, Parts: c.parts}}
		if got := describe.PromptLine(u, 200); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if got := describe.InputLine(in, 200); got != c.want {
			t.Errorf("%s that waits: got %q, want %q", name, got, c.want)
		}
	}
}
