package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// outcome is the result of work.
type outcome struct {
	Session session.ID `json:"session"`
	State   string     `json:"state" jsonschema:"done, asking, failed or interrupted"`
	Text    string     `json:"text"`
	Asks    []openAsk  `json:"asks,omitempty"`
	Error   string     `json:"error,omitempty" jsonschema:"why it failed or was interrupted"`
	Cost    string     `json:"cost,omitempty"`
}

// The states of an outcome.
const (
	stateDone        = "done"
	stateAsking      = "asking"
	stateFailed      = "failed"
	stateInterrupted = "interrupted"
)

// openAsk is a request that waits for an answer.
type openAsk struct {
	ID        session.AskID  `json:"id"`
	Summary   string         `json:"summary"`
	Questions []openQuestion `json:"questions,omitempty"` // if it is a question
}

// openQuestion is a part of a question.
type openQuestion struct {
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

// summarize returns the outcome of a prompt whose session is idle.
func summarize(id session.ID, p *follow.Progress) outcome {
	out := outcome{Session: id, State: stateDone, Text: strings.Join(p.Said, "\n\n")}
	if p.Cost > 0 {
		out.Cost = fmt.Sprintf("$%v", p.Cost)
	}
	switch {
	case p.Failure != nil:
		out.setFailure(p.Failure)
	case p.Withdrawn && !p.Begun:
		out.State, out.Error = stateInterrupted, "the prompt was withdrawn before its work began"
	case !p.IsComplete() || !p.Begun:
		out.State, out.Error = stateInterrupted, unansweredText
	default:
		out.setFinish(p.Finish)
	}
	return out
}

// unansweredText says that nothing works on a task that has no answer.
const unansweredText = "the work stopped before the task was done; session_prompt goes on with it"

// setFailure sets the state to that of work that ended with the failure.
func (o *outcome) setFailure(f *session.Failure) {
	o.State, o.Error = stateFailed, terminal.ReplaceControls(f.Message)
	if f.Reason == session.ReasonAborted || f.Reason == session.ReasonInterrupted {
		o.State = stateInterrupted
	}
}

// setFinish sets the state to failed if the provider ended the last answer for a reason that makes it no answer.
func (o *outcome) setFinish(finish string) {
	if finish == "content-filter" || finish == "error" {
		o.State, o.Error = stateFailed, session.DescribeFinish(finish)
	}
}

// maxEnd bounds the messages that are read to learn how the work of a session ended.
const maxEnd = 50

// readEnd returns the newest answer of an idle session as an outcome.
func (s *sessionServer) readEnd(ctx context.Context, id session.ID) (outcome, error) {
	// The messages since the newest turn, and the prompts that wait.
	var newest []session.Message
	for m, err := range s.client.NewestMessages(ctx, id) {
		if err != nil {
			return outcome{}, err
		}
		newest = append(newest, m)
		if _, isTurn := m.(*session.Assistant); isTurn || len(newest) == maxEnd {
			break
		}
	}
	waiting, err := s.client.Inbox().List(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	slices.Reverse(newest)
	out := describeEnd(newest, slices.ContainsFunc(waiting, (*session.Input).StartsWork))
	out.Session = id
	return out, nil
}

// describeEnd returns the outcome that the newest messages of an idle session tell, the oldest first. waits: a prompt
// that starts work waits for it.
func describeEnd(newest []session.Message, waits bool) outcome {
	out := outcome{State: stateDone}
	next := session.NextOf(newest)
	// The newest turn has the text and the failure, unless a prompt came after it.
	var turn *session.Assistant
	for _, m := range newest {
		if a, ok := m.(*session.Assistant); ok {
			turn = a
			out.Text = joinTexts(a)
		}
	}
	switch {
	case next == session.NextAnswer || waits:
		out.State, out.Error = stateInterrupted, unansweredText
	case turn != nil && turn.Error != nil:
		out.setFailure(turn.Error)
	case next.NeedsTurn():
		out.State, out.Error = stateInterrupted, unansweredText
	case turn != nil:
		out.setFinish(turn.Finish)
	}
	return out
}

// joinTexts returns the texts of an answer.
func joinTexts(a *session.Assistant) string {
	var texts []string
	for _, item := range a.Content {
		if t, ok := item.(*session.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
