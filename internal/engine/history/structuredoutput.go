package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// OutputTool is the name of the tool by which a model gives structured output where its vendor cannot hold the text to
// a schema. It is offered by BuildRequest and answered by OutputSchema.Answer; no registry has it.
const OutputTool = "StructuredOutput"

// What the model reads about structured output.
const (
	outputToolDescription = "Give your final answer in the form that the user asked for. Its input is the answer."
	outputToolDemand      = "The user wants the answer in a fixed form. When you have what you need, call the tool " +
		OutputTool + " once, with the answer as its input. What you say as text is not read as the answer."
	outputTaken      = "The answer was taken."
	outputTextDemand = "The user wants the answer in a fixed form. When you have what you need, answer with one JSON " +
		"value that fits this JSON Schema, and no other text:\n"
	outputMissing = "Your answer was not given in the form that was asked for"
	outputAgain   = ". Give it again, in that form and as instructed."
	outputCut     = "Your answer reached its limit of output tokens before it was whole"
	outputShorter = ". Give it again, shorter, in the form that was asked for and as instructed."
	outputCallCut = outputCut + ". Call " + OutputTool + " again with a shorter answer."
)

// Bounds of a session.Format.
const (
	maxFormatBytes   = 256 << 10 // of its schema
	maxFormatRetries = 10
)

// OutputSchema is the structured output that the newest prompt asks for, and the attempts at it so far.
type OutputSchema struct {
	schema  jsontext.Value // an object: the input of the tool
	wrapped bool           // a value that is not an object is the member "value" of the input
	check   *tool.AnswerSchema
	retries int
	missed  int // earlier answers to the prompt that did not fit
	cut     int // of these, the ones that reached the limit of output tokens
}

// CheckFormat returns a CodeInvalid error for a format that no answer can be checked against.
func CheckFormat(f *session.Format) error {
	if f == nil {
		return nil
	}
	if len(f.Schema) > maxFormatBytes {
		return session.Errorf(session.CodeInvalid, "the schema is larger than %d KiB", maxFormatBytes>>10).
			At("prompt.format.schema")
	}
	if f.Retries < 0 || f.Retries > maxFormatRetries {
		return session.Errorf(session.CodeInvalid, "retries must be between 0 and %d", maxFormatRetries).
			At("prompt.format.retries")
	}
	_, err := newOutputSchema(f)
	return err
}

func newOutputSchema(f *session.Format) (*OutputSchema, error) {
	out := &OutputSchema{schema: f.Schema, retries: f.Retries}
	var root map[string]jsontext.Value
	if f.Schema.Kind() != '{' || json.Unmarshal(f.Schema, &root) != nil {
		return nil, session.Errorf(session.CodeInvalid, "the schema of a format must be a JSON object").
			At("prompt.format.schema")
	}
	delete(root, "$schema")
	root, out.wrapped = objectSchema(root)
	var err error
	if out.schema, err = json.Marshal(root, json.Deterministic(true)); err == nil {
		out.check, err = tool.NewAnswerSchema(out.schema)
	}
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the JSON schema of the answer is invalid: %v", err).
			At("prompt.format.schema")
	}
	return out, nil
}

// FindOutputSchema returns the structured output that the newest prompt asks for, nil if it asks for none.
func (h *History) FindOutputSchema() (*OutputSchema, error) {
	prompt := h.NewestPrompt()
	if prompt == nil || prompt.Format == nil {
		return nil, nil
	}
	out, err := newOutputSchema(prompt.Format)
	if err != nil {
		return nil, err
	}
	for _, msg := range h.messages {
		m, ok := msg.(*session.Assistant)
		if !ok || m.Seq < prompt.Seq {
			continue
		}
		n := countMissed(m)
		if out.missed += n; n > 0 && (m.Finish == session.FinishCut || m.Finish == string(llm.FinishLength)) {
			out.cut++
		}
	}
	return out, nil
}

// countMissed counts the answers of a turn that did not fit.
func countMissed(m *session.Assistant) (n int) {
	if session.IsUnformed(m.Finish) {
		n++
	}
	for _, t := range m.Tools() {
		if t.Name == OutputTool && t.State.Status == session.ToolError {
			n++
		}
	}
	return n
}

// retryText returns what the model reads after an answer that did not fit the format, with the problem if the answer
// came near it.
func retryText(format *session.Format, m *session.Assistant) string {
	if m.Finish == session.FinishCut {
		return outputCut + outputShorter
	}
	if format == nil {
		return outputMissing + outputAgain
	}
	o, err := newOutputSchema(format)
	if err != nil {
		return outputMissing + outputAgain
	}
	var texts []string
	for _, it := range m.Content {
		if t, ok := it.(*session.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	if _, err = o.parseTexts(texts); err == nil || errors.Is(err, errNotObject) {
		return outputMissing + outputAgain
	}
	return outputMissing + ": " + strings.TrimSuffix(err.Error(), ".") + outputAgain
}

// addTo adds the demand for structured output to the request: as the vendor's own response format where it is native,
// else as the tool with some tool call required. In the last turn that tool is the only one.
func (o *OutputSchema) addTo(req *llm.Request, native, last bool) {
	if native {
		req.System = append(req.System, outputTextDemand+string(o.schema))
		req.OutputSchema = o.schema
		return
	}
	req.System = append(req.System, outputToolDemand)
	req.Tools = append(req.Tools, llm.ToolDefinition{
		Name: OutputTool, Description: outputToolDescription, Schema: o.schema, StructuredOutput: true,
	})
	sortTools(req.Tools)
	req.Choice = llm.ToolChoice{Mode: llm.ChooseRequired}
	if last {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseTool, Name: OutputTool}
	}
}

// OutputCall is one tool call of an answer.
type OutputCall struct {
	Name    string
	Input   jsontext.Value
	Invalid string // the problem with the arguments, "" if valid
	Cut     bool   // the answer reached its limit of output tokens within the arguments
}

// AnswerCall returns the outcome of a call of OutputTool.
func (o *OutputSchema) AnswerCall(c OutputCall) tool.Settlement {
	if _, err := o.parseCall(c); err != nil {
		return tool.Settlement{Error: session.Fail(session.ReasonInvalidInput, err.Error())}
	}
	return tool.Settlement{Output: tool.Output{
		Title: "Structured Output", Structured: jsontext.Value(`{"valid":true}`),
		Content: []session.ToolContent{{Type: "text", Text: outputTaken}},
	}}
}

// parseCall returns the value that a call gives. The error is written for the model.
func (o *OutputSchema) parseCall(c OutputCall) (jsontext.Value, error) {
	if c.Cut {
		return nil, tool.Failf("%s", outputCallCut)
	}
	if c.Invalid != "" {
		return nil, tool.Failf("The answer cannot be used: %s. Call %s again with a JSON object.", c.Invalid, OutputTool)
	}
	return o.unwrapValue(o.check.Check(OutputTool, c.Input))
}

// parseTexts returns the value that the texts of a turn give: all of them together, or the last one where the others
// only introduce it.
func (o *OutputSchema) parseTexts(texts []string) (v jsontext.Value, err error) {
	err = errNotObject
	for _, text := range []string{strings.Join(texts, ""), lastOf(texts)} {
		raw := jsontext.Value(stripCodeFence(text))
		if o.wrapped && raw.Kind() != '{' && raw.IsValid() {
			raw = encodeJSON(llm.Schema{"value": raw})
		}
		if raw.Kind() != '{' || !raw.IsValid() {
			continue
		}
		if v, err = o.unwrapValue(o.check.Validate(raw)); err == nil {
			return v, nil
		}
	}
	return nil, err
}

var errNotObject = errors.New("it is not one JSON object")

func lastOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// stripCodeFence removes a byte order mark, and of a text with exactly one code block everything around its content.
func stripCodeFence(text string) string {
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

// unwrapValue returns the value within an object that fits the schema.
func (o *OutputSchema) unwrapValue(v jsontext.Value, err error) (jsontext.Value, error) {
	if err != nil || !o.wrapped {
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

// Output is the answer of a turn to a prompt that asks for structured output. Its calls are settled.
type Output struct {
	Calls  []OutputCall
	Texts  []string
	Finish string // as the provider reported it
	Last   bool   // no further turn may follow
	More   bool   // the turn calls for another one by itself
}

// Verdict is the end of a turn that had to give structured output: with the value, with another turn that tries again,
// or with a failure.
type Verdict struct {
	Value   jsontext.Value // nil if the turn gave none
	Finish  string
	More    bool // another turn follows
	Failure *session.Failure
}

// JudgeAnswer decides how the turn ends. A refusal to answer is final: it ends as it does without structured output. An
// answer that reached the limit of output tokens is requested once more only: a shorter one may fit, the same one will
// not.
func (o *OutputSchema) JudgeAnswer(out Output) Verdict {
	v := Verdict{Finish: out.Finish}
	missed, cut := 0, len(out.Calls) == 0 && out.Finish == string(llm.FinishLength)
	// A call with a valid value is the answer.
	for _, c := range out.Calls {
		if c.Name != OutputTool {
			continue
		}
		cut = cut || c.Cut
		if value, err := o.parseCall(c); err == nil {
			v.Value = value
			return v
		}
		missed++
	}
	// A refusal is final; a text may have the value, too.
	if len(out.Calls) == 0 && out.Finish == string(llm.FinishContentFilter) {
		return v
	}
	if len(out.Calls) == 0 && !out.More {
		if value, err := o.parseTexts(out.Texts); err == nil { // without the call: some servers cannot force one
			v.Value = value
			return v
		}
		missed++
	}
	// Else ask again, unless the retries are used up.
	switch {
	case missed > 0 && o.missed+missed > o.retries, cut && o.cut > 0, out.Last:
		v.Failure = outputFailure(o.missed+missed-1, cut)
		return v
	case out.More:
	case cut:
		v.Finish = session.FinishCut
	default:
		v.Finish = session.FinishUnformed
	}
	v.More = true
	return v
}

// outputFailure is the failure of a prompt without structured output after so many retries.
func outputFailure(retries int, cut bool) *session.Failure {
	why := "Model did not produce structured output"
	if cut {
		why += ": its answer was cut at its limit of output tokens; ask for less, or raise the limit " +
			"(limit.output of the model)"
	}
	failure := session.Fail(session.ReasonFormat, why)
	failure.Extra = fmt.Appendf(nil, `{"retries":%d}`, max(0, retries))
	return failure
}
