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
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

func (g serverCommands) serveCommand() *cobra.Command {
	var asks string
	var answers bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Offer the sessions of this directory to other agents, as an MCP server over standard input and output",
		Long: "Offer tools to create, prompt, read and list sessions and to show their changes. A prompt that needs an\n" +
			"answer returns with the request: a person answers it in cairn, or with --allow-answers the other agent.",
		Args: cobra.NoArgs, Example: "  cairn mcp serve\n  claude mcp add cairn -- cairn mcp serve",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			s := &sessionServer{client: c, asks: session.AskPolicy(asks)}
			return s.newServer(g.inv.ServerVersion(), answers).Run(ctx, &sdk.StdioTransport{})
		}),
	}
	cmd.Flags().StringVar(&asks, "ask", "", "answer permission requests: deny, allow, edits, fail, or wait:DURATION; without it people do")
	cmd.Flags().BoolVar(&answers, "allow-answers", false, "let the other agent answer permission requests and questions")
	return cmd
}

// sessionServer offers the sessions of a directory as tools of MCP.
type sessionServer struct {
	client *api.Client
	asks   session.AskPolicy // of its prompts
}

func (s *sessionServer) newServer(version string, answers bool) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "cairn", Version: version}, &sdk.ServerOptions{
		Instructions: "Sessions of the coding agent cairn in one directory. session_prompt works until the task is done; " +
			"it returns early, in the state asking, if a permission or an answer is needed.",
	})
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_prompt", Description: "Gives a task to a session and waits until it is done. Without a session a new one begins.",
	}, s.prompt)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_wait", Description: "Waits until a session that works has done so, or asks.",
	}, s.wait)
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_list", Description: "Lists the newest sessions of the directory.", Annotations: readOnly,
	}, s.list)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_read", Description: "Returns the newest messages of a session.", Annotations: readOnly,
	}, s.read)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_diff", Description: "Returns what a session changed in files.", Annotations: readOnly,
	}, s.diff)
	sdk.AddTool(server, &sdk.Tool{Name: "session_interrupt", Description: "Stops the work of a session."}, s.interrupt)
	if answers {
		sdk.AddTool(server, &sdk.Tool{
			Name:        "session_answer",
			Description: "Answers a permission request of a session, by its id: once or reject, with a message for the model.",
		}, s.answer)
	}
	return server
}

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
		Reply   session.Reply `json:"reply" jsonschema:"once or reject"`
		Message string        `json:"message,omitempty" jsonschema:"for the model, with reject"`
	}
	noInput struct{}
)

// interruptTime bounds the request that stops a session whose caller has given up.
const interruptTime = 5 * time.Second

// outcome is the result of work.
type outcome struct {
	Session session.ID `json:"session"`
	State   string     `json:"state"` // done, asking, failed
	Text    string     `json:"text"`
	Asks    []openAsk  `json:"asks,omitempty"`
	Error   string     `json:"error,omitempty"`
	Cost    string     `json:"cost,omitempty"`
}

// openAsk is a request that waits for an answer.
type openAsk struct {
	ID      session.AskID `json:"id"`
	Summary string        `json:"summary"`
}

func (s *sessionServer) prompt(ctx context.Context, r *sdk.CallToolRequest, in promptInput) (*sdk.CallToolResult, outcome, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, outcome{}, errors.New("the task is empty")
	}
	id := in.Session
	if id == "" {
		created, err := s.client.Create(ctx, api.CreateSession{Title: in.Title, Agent: in.Agent, Asks: true, RequireModel: true})
		if err != nil {
			return nil, outcome{}, err
		}
		id = created.ID
	}
	given, err := s.client.Prompt(ctx, id, api.PromptRequest{
		Prompt: &session.Prompt{Text: in.Text}, Delivery: session.Queue, Asks: s.asks,
	})
	if err != nil {
		return nil, outcome{}, err
	}
	out, err := s.await(ctx, r, id, follow.NewProgress(given.ID, given.AdmittedSeq))
	return nil, out, err
}

func (s *sessionServer) wait(ctx context.Context, r *sdk.CallToolRequest, in sessionInput) (*sdk.CallToolResult, outcome, error) {
	head, err := s.client.Head(ctx, in.Session)
	if err != nil {
		return nil, outcome{}, err
	}
	progress := follow.NewProgress("", head)
	out, err := s.await(ctx, r, in.Session, progress)
	if err == nil && out.Text == "" {
		out.Text, err = s.newestText(ctx, in.Session)
	}
	return nil, out, err
}

// await follows a session until it is idle or asks, and reports its calls as progress. If the caller gives up, the
// session goes on only if it asks.
func (s *sessionServer) await(ctx context.Context, r *sdk.CallToolRequest, id session.ID, p *follow.Progress) (outcome, error) {
	watch := follow.Start(ctx, s.client, id, follow.Options{After: p.Cursor, Tasks: true})
	defer watch.Stop()
	watch.ExpectIdle()
	steps := 0
	for {
		select {
		case <-ctx.Done():
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
			defer cancel()
			_ = s.client.Interrupt(stop, id) // best effort: the caller is gone
			return outcome{}, context.Cause(ctx)
		case u, ok := <-watch.C:
			switch {
			case !ok || u.End != nil:
				return outcome{}, cmp.Or(u.End, errors.New("the session cannot be followed any more"))
			case u.Event != nil:
				p.Apply(*u.Event)
				if called, ok := u.Event.Data.(*session.ToolCalled); ok {
					steps++
					noteProgress(ctx, r, steps, describe.DescribeCall(called.Tool, called.Input))
				}
			}
			asks, err := s.openAsks(ctx, id, u)
			if err != nil {
				return outcome{}, err
			}
			if len(asks) > 0 && s.asks == "" {
				return outcome{Session: id, State: "asking", Text: strings.Join(p.Said, "\n\n"), Asks: asks}, nil
			}
			if u.Idle {
				return summarize(id, p), nil
			}
		}
	}
}

// openAsks returns what waits for an answer after an update that may have brought one.
func (s *sessionServer) openAsks(ctx context.Context, id session.ID, u follow.Update) (out []openAsk, err error) {
	asked := u.Task != nil || u.Idle
	if u.Event != nil {
		_, asked = u.Event.Data.(*session.PermissionAsked)
	}
	if !asked {
		return nil, nil
	}
	list, err := s.client.Asks(ctx, id)
	for _, a := range list {
		out = append(out, openAsk{a.ID, describe.AskSummary(a)})
	}
	return out, err
}

func summarize(id session.ID, p *follow.Progress) outcome {
	out := outcome{Session: id, State: "done", Text: strings.Join(p.Said, "\n\n")}
	if p.Cost > 0 {
		out.Cost = fmt.Sprintf("$%v", p.Cost)
	}
	if p.Failure != nil {
		out.State, out.Error = "failed", p.Failure.Message
	}
	return out
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

func (s *sessionServer) list(ctx context.Context, _ *sdk.CallToolRequest, _ noInput) (*sdk.CallToolResult, any, error) {
	query, err := s.client.RepositorySessions(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	query.Limit = 30
	page, err := s.client.Sessions(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	var lines []string
	for _, one := range page.Data {
		lines = append(lines, fmt.Sprintf("%s  %s", one.ID, one.Title))
	}
	return textResult(cmp.Or(strings.Join(lines, "\n"), "There are no sessions.")), nil, nil
}

func (s *sessionServer) read(ctx context.Context, _ *sdk.CallToolRequest, in readInput) (*sdk.CallToolResult, any, error) {
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

// newestText returns the text of the newest answer.
func (s *sessionServer) newestText(ctx context.Context, id session.ID) (string, error) {
	for m, err := range s.client.NewestMessages(ctx, id) {
		if err != nil {
			return "", err
		}
		if a, ok := m.(*session.Assistant); ok {
			var texts []string
			for _, item := range a.Content {
				if t, ok := item.(*session.Text); ok {
					texts = append(texts, t.Text)
				}
			}
			return strings.Join(texts, "\n\n"), nil
		}
	}
	return "", nil
}

func (s *sessionServer) diff(ctx context.Context, _ *sdk.CallToolRequest, in sessionInput) (*sdk.CallToolResult, any, error) {
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

func (s *sessionServer) interrupt(ctx context.Context, _ *sdk.CallToolRequest, in sessionInput) (*sdk.CallToolResult, any, error) {
	if err := s.client.Interrupt(ctx, in.Session); err != nil {
		return nil, nil, err
	}
	return textResult("The work of the session was stopped."), nil, nil
}

func (s *sessionServer) answer(ctx context.Context, _ *sdk.CallToolRequest, in answerInput) (*sdk.CallToolResult, any, error) {
	if in.Reply != session.ReplyOnce && in.Reply != session.ReplyReject {
		return nil, nil, errors.New("the reply must be once or reject")
	}
	err := s.client.Reply(ctx, in.Session, in.Ask, api.ReplyRequest{Reply: in.Reply, Message: in.Message})
	if err != nil {
		return nil, nil, err
	}
	return textResult("Answered. session_wait waits for the session."), nil, nil
}

func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
