package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Bounds of the questions of a server.
const (
	maxQuestions = 8 // of one request
	maxOptions   = 50
)

// elicit asks the person in the session whose call the server works on. It declines without such a call or a person, if
// the server works for several sessions, because the protocol does not say for which one the server asks, and while
// another question of the server is open.
func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	// Find the call, whose clock stands still while a person answers.
	running, ok := s.calls.findOnlySession()
	if !ok || running.call.Question == nil || !s.isAsking.CompareAndSwap(false, true) {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	defer s.isAsking.Store(false)
	ctx, stop := keepAlive(ctx, running)
	defer stop()
	// Ask for a visit of a page, a confirmation, or a form.
	p := r.Params
	fields, err := readFields(p.RequestedSchema)
	switch {
	case p.Mode == "url" || p.URL != "":
		text := "\nOpen this page and answer when you are done: " + cutText(p.URL, 2000)
		return s.confirm(ctx, running, cutText(p.Message, 2000)+text, "Done")
	case err != nil:
		return &sdk.ElicitResult{Action: "decline"}, nil
	case len(fields) == 0:
		return s.confirm(ctx, running, cutText(p.Message, 2000), "Accept")
	default:
		return s.fillForm(ctx, running, p.Message, fields)
	}
}

// confirm asks a question with two options, of which yes accepts.
func (s *server) confirm(ctx context.Context, running runningCall, text, yes string) (*sdk.ElicitResult, error) {
	answers, err := running.call.Question(ctx, []session.Question{{
		Question: text, Header: cutText(s.name, 30), Options: []session.Option{{Label: yes}, {Label: "Decline"}},
	}})
	switch {
	case err != nil:
		return refuseElicitation(err), nil
	case len(answers) == 1 && slices.Equal(answers[0], []string{yes}):
		return &sdk.ElicitResult{Action: "accept"}, nil
	default:
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
}

// fillForm asks a question for each field and returns the answers in the types of the fields.
func (s *server) fillForm(
	ctx context.Context, running runningCall, message string, fields []field,
) (*sdk.ElicitResult, error) {
	var questions []session.Question
	for i, f := range fields {
		q := f.question()
		if i == 0 {
			q.Question = cutText(message, 2000) + "\n" + q.Question
		}
		q.Header = cutText(s.name, 30)
		questions = append(questions, q)
	}
	answers, err := running.call.Question(ctx, questions)
	if err != nil {
		return refuseElicitation(err), nil
	}
	content := map[string]any{}
	for i, f := range fields {
		if i < len(answers) && len(answers[i]) > 0 {
			content[f.name] = f.convert(answers[i])
		}
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// refuseElicitation returns the result for a question that was not answered: a person dismissed it, or there is no
// person.
func refuseElicitation(err error) *sdk.ElicitResult {
	if denial, ok := errors.AsType[*tool.Denial](err); ok && !denial.ByPolicy && denial.Rule == nil {
		return &sdk.ElicitResult{Action: "cancel"}
	}
	return &sdk.ElicitResult{Action: "decline"}
}

// field is a member that a server asks for.
type field struct {
	name       string
	schema     *jsonschema.Schema
	isList     bool
	isRequired bool
}

// readFields returns the members of a requested schema, at most maxQuestions.
func readFields(schema any) ([]field, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	// In the order of the schema, which noteOrder keeps; of too many the required ones first.
	isRequired := func(n string) bool { return slices.Contains(root.Required, n) }
	names := slices.Sorted(maps.Keys(root.Properties))
	order, _ := root.Extra[orderKey].([]any)
	position := func(name string) int { return slices.Index(order, any(name)) }
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(position(a), position(b)) })
	if len(names) > maxQuestions {
		required := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !isRequired(n) })
		names = append(required, slices.DeleteFunc(names, isRequired)...)
	}
	var out []field
	for _, name := range names[:min(len(names), maxQuestions)] {
		one := root.Properties[name]
		if one == nil { // the server wrote null
			one = &jsonschema.Schema{}
		}
		out = append(out, field{name, one, one.Type == "array", isRequired(name)})
	}
	return out, nil
}

// question returns the question for the field: a choice of its values, or a text.
func (f field) question() session.Question {
	// What is asked, and whether the server needs it.
	text := cmp.Or(f.schema.Title, f.name)
	if f.isRequired {
		text += " (required)"
	}
	if f.schema.Description != "" {
		text += ": " + f.schema.Description
	}
	q := session.Question{Question: cutText(text, 1000), Multiple: f.isList}
	// The values that it may have.
	values := f.schema
	if f.isList && f.schema.Items != nil {
		values = f.schema.Items
	}
	for _, v := range values.Enum {
		q.Options = append(q.Options, session.Option{Label: cutText(fmt.Sprint(v), 200)})
	}
	for _, one := range slices.Concat(values.OneOf, values.AnyOf) { // values with titles
		if one != nil && one.Const != nil {
			q.Options = append(q.Options, session.Option{
				Label: cutText(fmt.Sprint(*one.Const), 200), Description: cutText(one.Title, 200),
			})
		}
	}
	if f.schema.Type == "boolean" {
		q.Options = []session.Option{{Label: "true"}, {Label: "false"}}
	}
	if len(q.Options) > maxOptions { // another value can be typed
		q.Options = q.Options[:maxOptions]
	} else if len(q.Options) > 0 {
		custom := false
		q.Custom = &custom
	}
	return q
}

// convert returns the answer in the type of the field. An answer of another type stays a text, which the SDK refuses.
func (f field) convert(answer []string) any {
	if f.isList {
		return answer
	}
	text := answer[0]
	switch f.schema.Type {
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "integer", "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return text
}

// keepAlive holds the clock of a call until stop is called. The context ends with the call.
func keepAlive(ctx context.Context, running runningCall) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		ticker := time.NewTicker(idleCall / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				running.alive()
			case <-running.done:
				cancel()
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}
