package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// formTool is the tool by which a model answers in a form. It is offered and settled here only: it does nothing but
// say what the answer is.
const formTool = "StructuredOutput"

// What the model reads about the form of its answer.
const (
	formDescription = "Give your final answer in the form that the user asked for. Its input is the answer."
	formDemand      = "The user wants the answer in a fixed form. When you have what you need, call the tool " + formTool + " once, with the answer as its input. What you say as text is not read as the answer."
	formTaken       = "The answer was taken."
	textDemand      = "The user wants the answer in a fixed form. When you have what you need, answer with one JSON value that fits this JSON Schema, and no other text:\n"
	unformed        = "Your answer was not given in the form that was asked for"
	formAgain       = ". Give it again, in that form and in the way that you were told."
	cutAnswer       = "Your answer reached its limit of output tokens before it was whole"
	shorterAnswer   = ". Give it again, shorter, in the form that was asked for and in the way that you were told."
	cutForm         = cutAnswer + ". Call " + formTool + " again with a shorter answer."
)

// Bounds of a format.
const (
	maxFormat        = 256 << 10 // bytes of its schema
	maxFormatRetries = 10
)

// form is what the prompt in effect wants its answer to look like.
type form struct {
	schema  jsontext.Value // of the tool's input
	wrapped bool           // a value that is no object is the input's member "value"
	check   *tool.Form
	native  bool // the vendor holds the answer's text to it; else the model calls the tool
	retries int
	tried   int // answers to the prompt so far that did not fit
	cut     int // of these, those that reached the limit of what the model may say at once
}

// checkFormat returns a CodeInvalid error for a format that no answer can be held against.
func checkFormat(f *session.Format) error {
	if f == nil {
		return nil
	}
	if len(f.Schema) > maxFormat {
		return session.Errorf(session.CodeInvalid, "the schema is larger than %d KiB", maxFormat>>10).At("prompt.format.schema")
	}
	if f.Retries < 0 || f.Retries > maxFormatRetries {
		return session.Errorf(session.CodeInvalid, "retries must be between 0 and %d", maxFormatRetries).At("prompt.format.retries")
	}
	_, err := newForm(f)
	return err
}

func newForm(f *session.Format) (*form, error) {
	out := &form{schema: f.Schema, retries: f.Retries}
	var root map[string]jsontext.Value
	if f.Schema.Kind() != '{' || json.Unmarshal(f.Schema, &root) != nil {
		return nil, session.Errorf(session.CodeInvalid, "the schema of a format must be a JSON object").At("prompt.format.schema")
	}
	delete(root, "$schema")
	root, out.wrapped = ofObject(root)
	var err error
	if out.schema, err = json.Marshal(root, json.Deterministic(true)); err == nil {
		out.check, err = tool.NewForm(out.schema)
	}
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the schema of the format cannot be used: %v", err).At("prompt.format.schema")
	}
	return out, nil
}

// wanted is the form that the newest promoted prompt asks for, nil for none.
func wanted(h *history) (*form, error) {
	tried, cut := 0, 0
	for _, msg := range slices.Backward(h.messages) {
		switch m := msg.(type) {
		case *session.Assistant:
			n := misses(m)
			if tried += n; n > 0 && (m.Finish == session.FinishCut || m.Finish == string(llm.FinishLength)) {
				cut++
			}
		case *session.User:
			if m.Format == nil {
				return nil, nil
			}
			f, err := newForm(m.Format)
			if err == nil {
				f.tried, f.cut = tried, cut
			}
			return f, err
		}
	}
	return nil, nil
}

// misses counts the answers of a turn that did not fit.
func misses(m *session.Assistant) (n int) {
	if session.Unformed(m.Finish) {
		n++
	}
	for _, t := range m.Tools() {
		if t.Name == formTool && t.State.Status == session.ToolError {
			n++
		}
	}
	return n
}

// holds reports whether the model's vendor holds the answer to the form itself.
func (set *setting) holds() bool {
	m := set.model
	alone := m.Forms == llm.FormsAlone && len(set.tools().Definitions()) == 0 && len(set.hosted()) == 0
	if m.Forms == llm.FormsBeside || alone {
		return m.NoTools || m.SupportsSchema == nil || m.SupportsSchema(set.form.schema)
	}
	return m.NoTools // it can be told the form in no other way
}

// again is what the model reads after an answer that has not the form that was wanted of it, with what is wrong if the
// answer comes near it.
func again(wanted *session.Format, m *session.Assistant) string {
	if m.Finish == session.FinishCut {
		return cutAnswer + shorterAnswer
	}
	if wanted == nil {
		return unformed + formAgain
	}
	f, err := newForm(wanted)
	if err != nil {
		return unformed + formAgain
	}
	var texts []string
	for _, it := range m.Content {
		if t, ok := it.(*session.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	if _, err = f.said(texts); err == nil || errors.Is(err, errNoValue) {
		return unformed + formAgain
	}
	return unformed + ": " + strings.TrimSuffix(err.Error(), ".") + formAgain
}

// demand asks for the form in one of two ways: the vendor is told the schema, or the tool is offered and some tool must
// be called. In the last turn it is the only one.
func (f *form) demand(req *llm.Request, last bool) {
	if f.native {
		req.System = append(req.System, textDemand+string(f.schema))
		req.Format = f.schema
		return
	}
	req.System = append(req.System, formDemand)
	req.Tools = append(req.Tools, llm.ToolDefinition{Name: formTool, Description: formDescription, Schema: f.schema, Form: true})
	sortTools(req.Tools)
	req.Choice = llm.ToolChoice{Mode: llm.ChooseRequired}
	if last {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: formTool}
	}
}

// settle is the outcome of one call of the tool.
func (f *form) settle(c *call) tool.Settlement {
	if _, err := f.value(c); err != nil {
		return tool.Settlement{Error: session.Fail(session.ReasonInvalidInput, err.Error())}
	}
	return tool.Settlement{Output: tool.Output{
		Title: "Structured Output", Structured: jsontext.Value(`{"valid":true}`),
		Content: []session.ToolContent{{Type: "text", Text: formTaken}},
	}}
}

// value is the answer that a call gives. The error is written for the model.
func (f *form) value(c *call) (jsontext.Value, error) {
	if c.cut {
		return nil, tool.Failf("%s", cutForm)
	}
	if c.invalid != "" {
		return nil, tool.Failf("The answer cannot be used: %s. Call %s again with a JSON object.", c.invalid, formTool)
	}
	return f.inner(f.check.Check(formTool, c.input))
}

// said is the answer that a turn's texts give: all of them, or the last where the others are about it.
func (f *form) said(texts []string) (v jsontext.Value, err error) {
	err = errNoValue
	for _, text := range []string{strings.Join(texts, ""), lastOf(texts)} {
		raw := jsontext.Value(unfenced(text))
		if f.wrapped && raw.Kind() != '{' && raw.IsValid() {
			raw = written(llm.Schema{"value": raw})
		}
		if raw.Kind() != '{' || !raw.IsValid() {
			continue
		}
		if v, err = f.inner(f.check.Fit(raw)); err == nil {
			return v, nil
		}
	}
	return nil, err
}

var errNoValue = errors.New("it is not one JSON object")

func lastOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// unfenced is a text without a byte order mark, and of one with a single code block only what is in it.
func unfenced(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
	if strings.HasPrefix(text, "{") {
		return text
	}
	parts := strings.Split(text, "```")
	if len(parts) != 3 {
		return text
	}
	return strings.TrimSpace(strings.TrimPrefix(parts[1], "json"))
}

// inner is the answer in an object that fits the schema.
func (f *form) inner(v jsontext.Value, err error) (jsontext.Value, error) {
	if err != nil || !f.wrapped {
		return v, err
	}
	var wrapper struct {
		Value jsontext.Value `json:"value"`
	}
	if err := json.Unmarshal(v, &wrapper); err != nil {
		return nil, err
	}
	return wrapper.Value, nil
}

// delivery is what a turn came to whose answer must have a form. Its calls are settled.
type delivery struct {
	calls []*call
	texts []string
	last  bool // no other turn may follow
	more  bool // the turn calls for another by itself
}

// judge decides how a turn ends whose answer must have the form: with the value, with another turn that tries again, or
// badly. What refuses to answer says no value, and is not asked again: it ends as it does without a form. What reached
// the limit of what the model may say at once is asked for again only once: a shorter answer may fit, the same will not.
func (f *form) judge(o delivery, end *session.StepEnded) (again bool, failure *session.Failure) {
	missed, cut := 0, len(o.calls) == 0 && end.Finish == string(llm.FinishLength)
	for _, c := range o.calls {
		if c.name != formTool {
			continue
		}
		cut = cut || c.cut
		if v, err := f.value(c); err == nil {
			end.Structured = v
			return false, nil
		}
		missed++
	}
	if len(o.calls) == 0 && end.Finish == string(llm.FinishContentFilter) {
		return false, nil
	}
	if len(o.calls) == 0 && !o.more {
		if v, err := f.said(o.texts); err == nil { // also without the call: some servers cannot force one
			end.Structured = v
			return false, nil
		}
		missed++
	}
	switch {
	case missed > 0 && f.tried+missed > f.retries, cut && f.cut > 0, o.last:
		return false, f.failed(f.tried+missed-1, cut)
	case o.more:
		return true, nil
	case cut:
		end.Finish = session.FinishCut
	default:
		end.Finish = session.FinishUnformed
	}
	return true, nil
}

// failed is the failure of a prompt whose answer got no form in so many retries.
func (f *form) failed(retries int, cut bool) *session.Failure {
	why := "Model did not produce structured output"
	if cut {
		why += ": its answer was cut at its limit of output tokens; ask for less, or raise the limit (limit.output of the model)"
	}
	failure := session.Fail(session.ReasonFormat, why)
	failure.Extra = fmt.Appendf(nil, `{"retries":%d}`, max(0, retries))
	return failure
}
