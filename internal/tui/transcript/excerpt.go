package transcript

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Excerpt selects the part of a transcript that Copy returns.
type Excerpt int

// The parts of a transcript that can be copied.
const (
	ExcerptMessage Excerpt = iota // the text of a prompt or answer, or the output of a call
	ExcerptCode                   // a block of code of it
	ExcerptCommand                // the command of a call
)

// lastCode returns the last block of code of a Markdown text, without its fences.
func lastCode(text string) string {
	var code, last []string
	inside := false
	for line := range strings.Lines(text) {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && inside:
			inside, last = false, code
		case isFence:
			inside, code = true, nil
		case inside:
			code = append(code, line)
		}
	}
	if inside {
		last = code
	}
	return strings.TrimSuffix(strings.Join(last, ""), "\n")
}

// result has what is shown of the structured results of tools.
type result struct {
	Output string         `json:"output"`
	Exit   jsontext.Value `json:"exit"`
	Diff   string         `json:"diff"`
}

func resultOf(t *session.Tool) (r result) {
	_ = json.Unmarshal(t.State.Structured, &r, jsontext.AllowInvalidUTF8(true)) // other tools have other members
	return r
}

// commandOf returns the command of a call, "" if it has none.
func commandOf(t *session.Tool) string {
	var in struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(t.State.Input, &in, jsontext.AllowInvalidUTF8(true)) // other tools have other members
	return in.Command
}

// errorOf returns why a call failed, "" if it did not.
func errorOf(t *session.Tool) string {
	if t.State.Error == nil {
		return ""
	}
	return t.State.Error.Message
}

// outputOf returns what the model sees of a result, or the output of a running command so far.
func outputOf(t *session.Tool) string {
	if t.State.Status == session.ToolRunning || t.Name == "bash" {
		if out := resultOf(t).Output; out != "" {
			return out
		}
	}
	var texts []string
	for _, c := range t.State.Content {
		texts = append(texts, cmp.Or(c.Text, c.Name))
	}
	return strings.Join(texts, "\n")
}
