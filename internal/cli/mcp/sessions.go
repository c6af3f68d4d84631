package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Inputs of the tools.
type (
	promptInput struct {
		Text    string     `json:"text" jsonschema:"the task"`
		Session session.ID `json:"session,omitempty" jsonschema:"an existing session; empty begins a new one"`
		Title   string     `json:"title,omitempty" jsonschema:"of a new session"`
		Agent   string     `json:"agent,omitempty" jsonschema:"of a new session, such as build or plan"`
	}
	sessionInput struct {
		Session session.ID `json:"session" jsonschema:"the id of the session"`
	}
	readInput struct {
		Session session.ID `json:"session" jsonschema:"the id of the session"`
		Last    int        `json:"last,omitempty" jsonschema:"how many messages, 20 by default"`
	}
	answerInput struct {
		Session session.ID    `json:"session" jsonschema:"the id of the session"`
		Ask     session.AskID `json:"ask" jsonschema:"the id of the request"`
		Reply   session.Reply `json:"reply,omitempty" jsonschema:"once or reject; for a question reject or nothing"`
		Message string        `json:"message,omitempty" jsonschema:"for the model, with reject"`
		Answers [][]string    `json:"answers,omitempty" jsonschema:"if it is a question: a list of answers to each part"`
	}
	noInput struct{}
)

// sessionList is the result of the tool that lists sessions.
type sessionList struct {
	Sessions []sessionRow `json:"sessions"`
}

// maxListed bounds it.
const maxListed = 30

type sessionRow struct {
	Session session.ID      `json:"session"`
	State   follow.Activity `json:"state" jsonschema:"idle, working, asking, or unfinished: its process ended at work"`
	Title   string          `json:"title"`
	Updated string          `json:"updated" jsonschema:"when it changed last"`
}

// openSession returns a session of the directory. Those of others are not offered.
func (s *sessionServer) openSession(ctx context.Context, id session.ID) (*session.Session, error) {
	found, err := s.client.Session(ctx, id)
	if err == nil && found.Location.Directory != s.directory {
		err = session.NotFound("session", string(id))
	}
	return found, err
}

func (s *sessionServer) prompt(
	ctx context.Context, r *sdk.CallToolRequest, in promptInput,
) (*sdk.CallToolResult, outcome, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, outcome{}, errors.New("the task is empty")
	}
	// Open or create the session.
	var opened *session.Session
	var err error
	if in.Session != "" {
		opened, err = s.openSession(ctx, in.Session)
	} else {
		request := api.CreateSession{Title: in.Title, Agent: in.Agent, Asks: true, RequireModel: true}
		opened, err = s.client.Create(ctx, request)
	}
	if err != nil {
		return nil, outcome{}, err
	}
	// Admit the task and wait.
	given, err := s.client.Prompt(ctx, opened.ID, api.PromptRequest{
		Prompt: &session.Prompt{Text: in.Text}, Delivery: session.Queue, Asks: s.asks,
	})
	if err != nil {
		return nil, outcome{}, err
	}
	progress := follow.NewProgress(given.ID, given.AdmittedSeq)
	out, err := s.await(ctx, r, opened.ID, progress)
	if err != nil && ctx.Err() != nil {
		s.giveUp(ctx, opened.ID, given.ID, progress.Begun)
	}
	return nil, out, err
}

// interruptTime bounds the request that stops the work of a caller that has given up.
const interruptTime = 5 * time.Second

// giveUp ends the work on a prompt whose caller is gone. Work of others on the session goes on.
func (s *sessionServer) giveUp(ctx context.Context, id session.ID, prompt session.MessageID, begun bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
	defer cancel()
	if begun {
		_ = s.client.Interrupt(ctx, id) // best effort: there is no caller to report an error to
	} else {
		_ = s.client.Inbox().Withdraw(ctx, id, prompt) // likewise
	}
}

func (s *sessionServer) wait(
	ctx context.Context, r *sdk.CallToolRequest, in sessionInput,
) (*sdk.CallToolResult, outcome, error) {
	if _, err := s.openSession(ctx, in.Session); err != nil {
		return nil, outcome{}, err
	}
	head, err := s.client.Head(ctx, in.Session)
	if err != nil {
		return nil, outcome{}, err
	}
	out, err := s.await(ctx, r, in.Session, follow.NewProgress("", head))
	if err != nil {
		return nil, outcome{}, err
	}
	// The work may have ended before the wait: the newest messages say how.
	end, err := s.readEnd(ctx, in.Session)
	if out.Text = end.Text; out.State != stateAsking {
		out.State, out.Error = end.State, end.Error
	}
	return nil, out, err
}

// await follows a session until it is idle or asks, and reports its calls as progress.
func (s *sessionServer) await(
	ctx context.Context, r *sdk.CallToolRequest, id session.ID, p *follow.Progress,
) (outcome, error) {
	watch := follow.Start(ctx, s.client, id, follow.Options{After: p.Cursor, Tasks: true})
	defer watch.Stop()
	watch.ExpectIdle()
	// A request may be open already.
	asks, err := s.openAsks(ctx, id)
	for steps := 0; err == nil; {
		if len(asks) > 0 {
			return outcome{Session: id, State: stateAsking, Text: strings.Join(p.Said, "\n\n"), Asks: asks}, nil
		}
		// Take the next update.
		select {
		case <-ctx.Done():
			return outcome{}, context.Cause(ctx)
		case u, ok := <-watch.C:
			if !ok || u.End != nil {
				return outcome{}, cmp.Or(u.End, errors.New("the session cannot be followed any more"))
			}
			if u.Event != nil {
				p.Apply(*u.Event)
				if called, ok := u.Event.Data.(*session.ToolCalled); ok {
					steps++
					noteProgress(ctx, r, steps, describe.DescribeCall(called.Tool, called.Input))
				}
			}
			// It may have brought a request, or be the end of the work.
			if mayAsk(u) {
				asks, err = s.openAsks(ctx, id)
			}
			if u.Idle && len(asks) == 0 && err == nil {
				return summarize(id, p), nil
			}
		}
	}
	return outcome{}, err
}

// mayAsk reports whether an update may have brought a request: of the session, or of the session of a task.
func mayAsk(u follow.Update) bool {
	if u.Task != nil || u.Idle || u.Found {
		return true
	}
	if u.Event == nil {
		return false
	}
	_, asked := u.Event.Data.(*session.PermissionAsked)
	return asked
}

// openAsks returns what waits for an answer in the session and its tasks; nothing if the policy answers.
func (s *sessionServer) openAsks(ctx context.Context, id session.ID) (out []openAsk, err error) {
	if s.asks != "" && s.asks != "edits" {
		return nil, nil
	}
	list, err := follow.PendingAsks(ctx, s.client, id)
	for _, a := range list {
		one := openAsk{ID: a.ID, Summary: describe.AskSummary(a)}
		for _, q := range a.Questions {
			text := terminal.ReplaceControls(q.Question)
			one.Questions = append(one.Questions, openQuestion{text, describe.OptionLines(q), q.Multiple})
		}
		out = append(out, one)
	}
	return out, err
}

// noteProgress reports what a session does, if the caller wants to know.
func noteProgress(ctx context.Context, r *sdk.CallToolRequest, step int, text string) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // the result counts, not this
		ProgressToken: token, Progress: float64(step), Message: text,
	})
}

func (s *sessionServer) list(
	ctx context.Context, _ *sdk.CallToolRequest, _ noInput,
) (*sdk.CallToolResult, sessionList, error) {
	// Read the newest sessions, and what they do.
	out := sessionList{Sessions: []sessionRow{}}
	query, err := s.client.RepositorySessions(ctx, true)
	if err != nil {
		return nil, out, err
	}
	query.Limit = maxListed
	page, err := s.client.Sessions(ctx, query)
	if err != nil {
		return nil, out, err
	}
	activities, err := follow.ReadActivities(ctx, s.client, page.Data)
	if err != nil {
		return nil, out, err
	}
	// Describe each.
	for _, one := range page.Data {
		out.Sessions = append(out.Sessions, sessionRow{
			Session: one.ID, State: activities[one.ID], Title: one.Title,
			Updated: time.UnixMilli(one.Time.Updated).UTC().Format(time.RFC3339),
		})
	}
	return nil, out, nil
}

func (s *sessionServer) read(
	ctx context.Context, _ *sdk.CallToolRequest, in readInput,
) (*sdk.CallToolResult, any, error) {
	if _, err := s.openSession(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	limit := min(cmp.Or(max(in.Last, 0), 20), 200)
	page, err := s.client.Messages(ctx, in.Session, api.MessageQuery{Limit: limit})
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(page.Data)
	var b strings.Builder
	for _, m := range page.Data {
		writeMessage(&b, m)
	}
	return textResult(cmp.Or(b.String(), "There are no messages.")), nil, nil
}

// writeMessage writes a message as text: prompts, answers and calls.
func writeMessage(b *strings.Builder, m session.Message) {
	switch m := m.(type) {
	case *session.User:
		fmt.Fprintf(b, "> %s\n\n", m.Text)
	case *session.Assistant:
		for _, item := range m.Content {
			switch item := item.(type) {
			case *session.Text:
				fmt.Fprintf(b, "%s\n\n", item.Text)
			case *session.Tool:
				fmt.Fprintf(b, "[%s: %s]\n\n", describe.DescribeCall(item.Name, item.State.Input), item.State.Status)
			}
		}
		if m.Error != nil {
			fmt.Fprintf(b, "[failed: %s]\n\n", m.Error.Message)
		}
	}
}

func (s *sessionServer) diff(
	ctx context.Context, _ *sdk.CallToolRequest, in sessionInput,
) (*sdk.CallToolResult, any, error) {
	if _, err := s.openSession(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	found, err := api.Reverts{Client: s.client}.ReadDiff(ctx, in.Session, api.DiffSelection{Context: 3})
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for _, f := range found.Data {
		b.WriteString(f.Patch + "\n")
	}
	for _, u := range found.Unknown {
		b.WriteString("(" + u + ")\n")
	}
	return textResult(cmp.Or(b.String(), "The session changed no files.")), nil, nil
}

func (s *sessionServer) interrupt(
	ctx context.Context, _ *sdk.CallToolRequest, in sessionInput,
) (*sdk.CallToolResult, any, error) {
	if _, err := s.openSession(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	if err := s.client.Interrupt(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	return textResult("The work of the session was stopped."), nil, nil
}

func (s *sessionServer) answer(
	ctx context.Context, _ *sdk.CallToolRequest, in answerInput,
) (*sdk.CallToolResult, any, error) {
	// Find the request, which may be that of a task.
	if _, err := s.openSession(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	list, err := follow.PendingAsks(ctx, s.client, in.Session)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(list, func(a session.PendingAsk) bool { return a.ID == in.Ask })
	if i < 0 {
		return nil, nil, session.NotFound("request", string(in.Ask))
	}
	// Answer it as its kind needs.
	isQuestion := list[i].IsQuestion()
	switch {
	case isQuestion && in.Reply != session.ReplyReject && len(in.Answers) == 0:
		return nil, nil, errors.New("the request is a question: give answers, or the reply reject")
	case !isQuestion && in.Reply != session.ReplyOnce && in.Reply != session.ReplyReject:
		return nil, nil, errors.New("the reply must be once or reject")
	}
	answer := follow.Answer{Ask: list[i], Reply: in.Reply, Message: in.Message, Answers: in.Answers}
	if err := follow.SendAnswer(ctx, s.client, answer); err != nil {
		return nil, nil, err
	}
	return textResult("Answered. session_wait waits for the session."), nil, nil
}

func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
