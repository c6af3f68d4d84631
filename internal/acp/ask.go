package acp

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// handleAsk puts an ask to the client, also one of a subagent, and takes it back when somebody has answered.
func (s *liveSession) handleAsk(ctx context.Context, data session.EventData) {
	switch d := data.(type) {
	case *session.PermissionAsked:
		s.ask(ctx, d.Ask)
	case *session.PermissionReplied:
		if cancel := s.pending[d.AskID]; cancel != nil {
			cancel()
			delete(s.pending, d.AskID)
			s.send(stateChanged{state: stateRunning})
		}
	}
}

// ask puts an ask to the client in the background.
func (s *liveSession) ask(ctx context.Context, a session.PendingAsk) {
	if s.pending[a.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.pending[a.ID] = cancel
	s.send(stateChanged{state: stateAsks})
	s.asks.Go(func() {
		defer cancel()
		answer, ok := s.question(ctx, a)
		if !ok || ctx.Err() != nil {
			return
		}
		_ = follow.RepeatUntilAnswered(ctx, func() error { return follow.SendAnswer(ctx, s.client, answer) }) // else it still waits
	})
}

// question asks the client and returns the answer; ok is false if there is none.
func (s *liveSession) question(ctx context.Context, a session.PendingAsk) (answer follow.Answer, ok bool) {
	answer = follow.Answer{Ask: a, Reply: session.ReplyOnce}
	if a.IsQuestion() {
		if s.agent.features.form {
			return s.askForm(ctx, answer)
		}
		return s.askOptions(ctx, answer)
	}
	options := []permissionOption{{"once", "Allow once", "allow_once"}}
	if len(a.Save) > 0 {
		options = append(options, permissionOption{"always", "Always allow " + describe.DescribeSaved(a, a.Save), "allow_always"})
	}
	options = append(options, permissionOption{"reject", "Reject", "reject_once"})
	chosen, ok := s.requestPermission(ctx, a, describe.AskTitle(a), options)
	switch {
	case !ok:
		return answer, false
	case chosen == "always":
		answer.Reply = session.ReplyAlways
	case chosen != "once":
		answer.Reply = session.ReplyReject
	}
	return answer, true
}

// requestPermission asks for one of the options. ok is false if the client has cancelled it, or is gone.
func (s *liveSession) requestPermission(
	ctx context.Context, a session.PendingAsk, title string, options []permissionOption,
) (chosen string, ok bool) {
	call := callUpdate{id: string(a.ID), title: title, kind: kindOf(a.Action), status: statusPending, rawInput: a.Metadata}
	if a.Source != nil && a.SessionID == s.id {
		call.id = string(a.Source.PartID)
	}
	if diff := describe.AskDiff(a); diff != "" {
		call.content = []callContent{{block: block{text: "```diff\n" + strings.TrimSuffix(diff, "\n") + "\n```"}}}
	} else if details := describe.AskDetails(a); len(details) > 0 {
		call.content = []callContent{{block: block{text: strings.Join(details, "\n")}}}
	}
	var response struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	params := s.agent.currentDialect().permission(s.id, title, call, options)
	err := s.agent.conn.call(ctx, "session/request_permission", params, &response)
	if err != nil || response.Outcome.Outcome != "selected" {
		return "", false
	}
	return response.Outcome.OptionID, true
}

// askOptions asks the questions one after the other, with their options as those of a permission. Without options a
// question stays unanswered.
func (s *liveSession) askOptions(ctx context.Context, answer follow.Answer) (follow.Answer, bool) {
	const noAnswer = "none"
	for _, q := range answer.Ask.Questions {
		options := []permissionOption{}
		for i, o := range q.Options {
			options = append(options, permissionOption{strconv.Itoa(i), o.Label, "allow_once"})
		}
		options = append(options, permissionOption{noAnswer, "No answer", "reject_once"})
		chosen, ok := s.requestPermission(ctx, answer.Ask, q.Question, options)
		if !ok {
			return answer, false
		}
		given := []string{}
		if i, err := strconv.Atoi(chosen); err == nil && i >= 0 && i < len(q.Options) {
			given = append(given, q.Options[i].Label)
		}
		answer.Answers = append(answer.Answers, given)
	}
	return answer, true
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
func (s *liveSession) askForm(ctx context.Context, answer follow.Answer) (follow.Answer, bool) {
	fields := map[string]formField{}
	for i, q := range answer.Ask.Questions {
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
	var response struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	err := s.agent.conn.call(ctx, "elicitation/create", map[string]any{
		"sessionId": s.id, "mode": "form", "message": describe.AskSummary(answer.Ask),
		"requestedSchema": map[string]any{"type": "object", "properties": fields},
	}, &response)
	if err != nil {
		return answer, false
	}
	if response.Action == "cancel" {
		answer.Reply = session.ReplyReject
		return answer, true
	}
	for i, q := range answer.Ask.Questions {
		name := "q" + strconv.Itoa(i+1)
		answer.Answers = append(answer.Answers, readAnswer(q, response.Content[name], response.Content[name+otherField]))
	}
	return answer, true
}

// readAnswer returns the answers to a question in a form: an own one instead of the options if there can be only one.
func readAnswer(q session.Question, chosen, other any) []string {
	given := []string{}
	switch v := chosen.(type) {
	case string:
		if v != "" {
			given = append(given, v)
		}
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				given = append(given, text)
			}
		}
	}
	if text, ok := other.(string); ok && text != "" && q.AllowsCustom() {
		if !q.Multiple {
			return []string{text}
		}
		given = append(given, text)
	}
	return slices.Compact(given)
}
