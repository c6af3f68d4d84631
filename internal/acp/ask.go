package acp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// openAsk is an ask that was put to the client.
type openAsk struct {
	cancel context.CancelFunc // takes it back
	call   string             // the id of a call that only shows the ask, "" if a call of a tool has made it
}

// handleAsk puts an ask to the client, also one of a subagent, and takes it back when another client has answered.
func (s *liveSession) handleAsk(ctx context.Context, data session.EventData) {
	switch d := data.(type) {
	case *session.PermissionAsked:
		s.forwardAsk(ctx, d.Ask)
	case *session.PermissionReplied:
		delete(s.state.asks, d.AskID)
		open, ok := s.pending[d.AskID]
		if !ok {
			return
		}
		open.cancel()
		delete(s.pending, d.AskID)
		if open.call != "" {
			end := callUpdate{id: open.call, status: statusCompleted}
			if d.Reply == session.ReplyReject {
				end.status = statusFailed
			}
			s.send(end)
		}
	}
}

// forwardAsk puts an ask to the client in the background. Of a call that the client does not see, it sends what the ask
// is for.
func (s *liveSession) forwardAsk(ctx context.Context, a session.PendingAsk) {
	if _, ok := s.pending[a.ID]; ok {
		return
	}
	// Show what it is for.
	call := newAskCall(a)
	open := openAsk{}
	switch {
	case a.Source == nil:
		open.call = call.id
	case a.SessionID != s.id:
		s.shown[a.Source.PartID] = a.Action
	}
	if a.Source == nil || a.SessionID != s.id {
		shown := call
		shown.isNew = true
		s.send(shown)
	}
	// Note it, so that another client's answer takes it back, and ask.
	ctx, open.cancel = context.WithCancel(ctx)
	s.pending[a.ID] = open
	s.state.noteAsk(a)
	s.asks.Go(func() {
		defer open.cancel()
		answer, err := s.question(ctx, a, call)
		switch {
		case ctx.Err() != nil: // answered by another client, or the session is closed
			return
		case errors.Is(err, errDismissed):
			answer.Reply = session.ReplyReject
		case err != nil:
			s.send(notice{
				"a question waits for an answer", "this client cannot ask it, another one can (cairn attach): " + err.Error(),
			})
			return
		}
		// If it cannot be sent, the ask still waits for another client, or was answered by one.
		_ = follow.RepeatUntilAnswered(ctx, func() error { return follow.SendAnswer(ctx, s.client, answer) })
	})
}

// handleTaskCall ends a call of a subagent that was shown because of an ask.
func (s *liveSession) handleTaskCall(data session.EventData) {
	switch d := data.(type) {
	case *session.ToolSuccess:
		if tool, ok := s.shown[d.PartID]; ok {
			delete(s.shown, d.PartID)
			s.send(settledCall(string(d.PartID), tool, settlement{d.Title, d.Content, d.Structured}))
		}
	case *session.ToolFailed:
		if _, ok := s.shown[d.PartID]; ok {
			delete(s.shown, d.PartID)
			s.send(failedCall(string(d.PartID), d.Error))
		}
	}
}

// newAskCall returns the call that an ask is for, or that shows an ask without one.
func newAskCall(a session.PendingAsk) callUpdate {
	call := callUpdate{
		id: string(a.ID), title: describe.AskTitle(a), kind: findKind(a.Action), status: statusPending, rawInput: a.Metadata,
	}
	if a.Source != nil {
		call.id = string(a.Source.PartID)
	}
	if diff := describe.AskDiff(a); diff != "" {
		call.content = []callContent{{block: block{text: "```diff\n" + strings.TrimSuffix(diff, "\n") + "\n```"}}}
	} else if details := describe.AskDetails(a); len(details) > 0 {
		call.content = []callContent{{block: block{text: strings.Join(details, "\n")}}}
	}
	return call
}

// errDismissed is the error of a question that a person has not answered.
var errDismissed = errors.New("the question was dismissed")

// question asks the client and returns the answer.
func (s *liveSession) question(ctx context.Context, a session.PendingAsk, call callUpdate) (follow.Answer, error) {
	answer := follow.Answer{Ask: a, Reply: session.ReplyOnce}
	if a.IsQuestion() {
		if s.agent.features.form {
			return s.askForm(ctx, answer)
		}
		return s.askOptions(ctx, answer, call)
	}
	options := []permissionOption{{"once", "Allow once", "allow_once"}}
	if len(a.Save) > 0 {
		name := "Always allow " + describe.DescribeSaved(a, a.Save)
		options = append(options, permissionOption{"always", name, "allow_always"})
	}
	options = append(options, permissionOption{"reject", "Reject", "reject_once"})
	chosen, err := s.requestPermission(ctx, call.title, call, options)
	switch {
	case err != nil:
		return answer, err
	case chosen == "always":
		answer.Reply = session.ReplyAlways
	case chosen != "once":
		answer.Reply = session.ReplyReject
	}
	return answer, nil
}

// requestPermission asks for one of the options and returns its id.
func (s *liveSession) requestPermission(
	ctx context.Context, title string, call callUpdate, options []permissionOption,
) (chosen string, err error) {
	var response struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	call.title = title
	params := s.agent.currentDialect().permission(s.id, title, call, options)
	if err := s.agent.conn.call(ctx, "session/request_permission", params, &response); err != nil {
		return "", err
	}
	if response.Outcome.Outcome != "selected" {
		return "", errDismissed
	}
	return response.Outcome.OptionID, nil
}

// askOptions asks the questions one after the other, with their options as those of a permission. Without options a
// question stays unanswered.
func (s *liveSession) askOptions(ctx context.Context, answer follow.Answer, call callUpdate) (follow.Answer, error) {
	const noAnswer = "none"
	for _, q := range answer.Ask.Questions {
		options := []permissionOption{}
		for i, o := range q.Options {
			options = append(options, permissionOption{strconv.Itoa(i), o.Label, "allow_once"})
		}
		options = append(options, permissionOption{noAnswer, "No answer", "reject_once"})
		chosen, err := s.requestPermission(ctx, q.Question, call, options)
		if err != nil {
			return answer, err
		}
		given := []string{}
		if i, err := strconv.Atoi(chosen); err == nil && i >= 0 && i < len(q.Options) {
			given = append(given, q.Options[i].Label)
		}
		answer.Answers = append(answer.Answers, given)
	}
	return answer, nil
}

// formField is a field of a form of the client.
type formField struct {
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitzero"`
	OneOf       []formValue `json:"oneOf,omitzero"`
	Items       *formItems  `json:"items,omitzero"`
}

type formItems struct {
	AnyOf []formValue `json:"anyOf"`
}

type formValue struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// otherField is the name of the field for an own answer to a question.
const otherField = "_other"

// askForm asks all questions with one form. A client that declines leaves them unanswered, and one that cancels rejects
// them.
func (s *liveSession) askForm(ctx context.Context, answer follow.Answer) (follow.Answer, error) {
	// Ask.
	var response struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	err := s.agent.conn.call(ctx, "elicitation/create", map[string]any{
		"sessionId": s.id, "mode": "form", "message": describe.AskSummary(answer.Ask),
		"requestedSchema": map[string]any{"type": "object", "properties": newFormFields(answer.Ask.Questions)},
	}, &response)
	if err != nil {
		return answer, err
	}
	if response.Action == "cancel" {
		return answer, errDismissed
	}
	// Read the answers; a client that declines sends none.
	for i, q := range answer.Ask.Questions {
		name := "q" + strconv.Itoa(i+1)
		answer.Answers = append(answer.Answers, readAnswer(q, response.Content[name], response.Content[name+otherField]))
	}
	return answer, nil
}

// newFormFields returns the fields of the form for questions: one for each, and one for an own answer where it is
// allowed.
func newFormFields(questions []session.Question) map[string]formField {
	fields := map[string]formField{}
	for i, q := range questions {
		name, values := "q"+strconv.Itoa(i+1), []formValue{}
		for _, o := range q.Options {
			title := o.Label
			if o.Description != "" {
				title += ": " + o.Description
			}
			values = append(values, formValue{o.Label, title})
		}
		field := formField{Type: "string", Title: q.Header, Description: q.Question, OneOf: values}
		switch {
		case len(values) == 0:
			field.OneOf = nil
		case q.Multiple:
			field.Type, field.OneOf, field.Items = "array", nil, &formItems{values}
		}
		fields[name] = field
		if q.AllowsCustom() && len(values) > 0 {
			fields[name+otherField] = formField{Type: "string", Title: "Another answer"}
		}
	}
	return fields
}

// readAnswer returns the answers to a question in a form, each once: of its options, and an own one if that is allowed.
// An own answer takes the place of the option if there can be only one answer.
func readAnswer(q session.Question, chosen, other any) []string {
	// Take what the client has chosen, in either form.
	texts, _ := chosen.([]any)
	if text, ok := chosen.(string); ok {
		texts = []any{text}
	}
	if text, ok := other.(string); ok && text != "" && q.AllowsCustom() {
		if !q.Multiple {
			return []string{text}
		}
		texts = append(texts, text)
	}
	// Keep what can be an answer.
	given := []string{}
	for _, one := range texts {
		text, _ := one.(string)
		isOption := slices.ContainsFunc(q.Options, func(o session.Option) bool { return o.Label == text })
		isAllowed := isOption || q.AllowsCustom() || len(q.Options) == 0
		if text != "" && isAllowed && !slices.Contains(given, text) {
			given = append(given, text)
		}
		if len(given) == 1 && !q.Multiple {
			break
		}
	}
	return given
}
