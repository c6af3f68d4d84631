package guide

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// task is the last user message and the calls made for it since.
type task struct {
	text    string
	tools   map[string]bool
	calls   map[string]*outcome // by callKey
	pending []llm.ToolCall      // the calls whose outcome the rule needs next
}

// outcome is the result of a call. A call without a result counts as failed.
type outcome struct {
	id     string
	text   string
	failed bool
}

func newTask(req *llm.Request) *task {
	t := &task{tools: map[string]bool{}, calls: map[string]*outcome{}}
	if req.Choice.Mode != llm.ChooseNone {
		for _, tool := range req.Tools {
			t.tools[tool.Name] = true
		}
	}
	for _, m := range req.Messages {
		if m.Role == llm.RoleUser {
			t.text, t.calls = firstText(m.Parts), map[string]*outcome{}
		}
		t.addParts(m.Parts)
	}
	return t
}

// firstText returns what the user wrote; later texts of the message belong to attachments.
func firstText(parts []llm.Part) string {
	for part := range llm.PartsOf[llm.Text](parts) {
		if text := strings.TrimSpace(part.Text); text != "" {
			return text
		}
	}
	return ""
}

func (t *task) addParts(parts []llm.Part) {
	for call := range llm.PartsOf[llm.ToolCall](parts) {
		t.calls[callKey(call.Name, call.Input)] = &outcome{id: call.ID, text: "the call has no result", failed: true}
	}
	for result := range llm.PartsOf[llm.ToolResult](parts) {
		for _, o := range t.calls {
			if o.id == result.ID {
				o.text, o.failed = textOf(result.Content), result.IsError
			}
		}
	}
}

func textOf(parts []llm.Part) string {
	var texts []string
	for part := range llm.PartsOf[llm.Text](parts) {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "\n")
}

func callKey(name string, input jsontext.Value) string {
	input = input.Clone()
	_ = input.Canonicalize() // input that is not JSON is no call of a rule
	return name + " " + string(input)
}

// callTool returns the outcome of a call if the request has one; otherwise it adds the call to pending and ready is
// false. A call that cannot be made is ready and failed.
func (t *task) callTool(name string, args map[string]string) (o *outcome, ready bool) {
	input, err := json.Marshal(args, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return &outcome{text: err.Error(), failed: true}, true
	}
	if o, ready = t.calls[callKey(name, input)]; ready {
		return o, true
	}
	if !t.tools[name] {
		return &outcome{text: fmt.Sprintf("this session does not offer the tool `%s`", name), failed: true}, true
	}
	t.pending = append(t.pending, llm.ToolCall{Name: name, Input: input})
	return nil, false
}
