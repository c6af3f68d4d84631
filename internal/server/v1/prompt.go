package v1

import (
	"cmp"
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// promptHandlers gives sessions work: prompts, commands, and shell commands of the user.
type promptHandlers struct{ *dependencies }

// promptIn is a request to prompt a session.
type promptIn struct {
	sessionIn
	Body opencode.PromptInput `body:"required"`
}

// runPrompt admits a prompt and answers with the newest message of the model once the session is idle. That message
// also says how the work failed.
func (h promptHandlers) runPrompt(ctx context.Context, in promptIn) (opencode.Message, error) {
	admitted, err := h.admitPrompt(ctx, in)
	if err != nil {
		return opencode.Message{}, err
	}
	if in.Body.NoReply {
		return store.Query(ctx, h.Store, func(rd store.Reader) (opencode.Message, error) {
			return readMessage(rd, admitted.SessionID, admitted.ID)
		})
	}
	return h.waitForAnswer(ctx, admitted)
}

// startPrompt admits a prompt.
func (h promptHandlers) startPrompt(ctx context.Context, in promptIn) (operation.None, error) {
	_, err := h.admitPrompt(ctx, in)
	return operation.None{}, err
}

// admitPrompt admits the prompt of a request.
func (h promptHandlers) admitPrompt(ctx context.Context, in promptIn) (*session.Input, error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return nil, err
	}
	p, err := in.Body.Prompt(h.newPartID)
	if err == nil {
		err = checkMessageID(in.Body.MessageID)
	}
	if err != nil {
		return nil, httpio.WithPart("body", err)
	}
	if c := caller.FromContext(ctx); c.Kind == caller.KindExtension && c.Role < caller.Approve {
		in.Body.Tools = in.Body.Tools.ListOff() // what plugins allow has no effect
	}
	if len(in.Body.Tools) > 0 {
		rules := in.Body.MergeRules(s.Permission)
		if err := h.Commands.ChangeSession(ctx, in.SessionID, admit.SessionChange{Permission: &rules}); err != nil {
			return nil, httpio.WithPart("body", err)
		}
	}
	admitted, err := h.Commands.AdmitPrompt(ctx, admit.PromptRequest{
		SessionID: in.SessionID, ID: in.Body.MessageID, Prompt: p, Named: true, Variant: in.Body.Variant,
		NoReply:   in.Body.NoReply,
		ReadFiles: h.attachFiles,
	})
	return admitted, inBody(opencode.TranslateErrorPath(err, p, opencode.PartField))
}

// waitForAnswer returns the newest message of the model once the prompt's session is idle and the open streams have
// said so. OpenCode's "run --attach" reads the events on another connection and exits as soon as its prompt is
// answered, with what it has printed by then.
func (h promptHandlers) waitForAnswer(ctx context.Context, in *session.Input) (m opencode.Message, err error) {
	if err := h.waitUntilIdle(ctx, in.SessionID); err != nil {
		return m, err
	}
	return store.Query(ctx, h.Store, func(rd store.Reader) (opencode.Message, error) { return readNewestAnswer(rd, in) })
}

// waitUntilIdle returns once the session is idle and the open streams have said so.
func (h promptHandlers) waitUntilIdle(ctx context.Context, id session.ID) error {
	long, end := h.long.Start(ctx, "")
	defer end()
	if err := h.Runs.Wait(long, id); err != nil {
		if isShutdown(ctx, long, err) {
			err = session.Errorf(session.CodeUnavailable,
				"cairn is shutting down; the prompt is stored and continues when cairn starts again")
		}
		return err
	}
	h.deliveries.Wait(long, h.Log.NewestMark())
	return nil
}

// isShutdown reports whether a long request ended because the server shuts down, and not because the client left.
func isShutdown(ctx, long context.Context, err error) bool {
	return long.Err() != nil && ctx.Err() == nil || errors.Is(err, turnlog.ErrShutdown)
}

// readNewestAnswer reads the newest message of the model or, before its first one, the prompt.
func readNewestAnswer(rd store.Reader, in *session.Input) (opencode.Message, error) {
	m, ok, err := store.NewestMessage(rd, in.SessionID, session.TypeAssistant)
	switch {
	case err != nil:
		return opencode.Message{}, err
	case ok:
		return readMessage(rd, in.SessionID, m.Meta().ID)
	default:
		return readMessage(rd, in.SessionID, in.ID)
	}
}

// attachFiles reads the files that the prompt names, for the model and for clients. Of a file that does not exist the
// prompt keeps a note for the model, and the streams have an error.
func (h promptHandlers) attachFiles(ctx context.Context, s *session.Session, p *session.Prompt) {
	open := func() (attachment.Reader, error) {
		l, err := h.Backend.Location(ctx, s.Location)
		return l.Files, err
	}
	attachment.ReadFiles(ctx, s.ID, p, open, func(f *session.File, path, message string) {
		f.Text = "Read tool failed to read " + path + " with the following error: " + message
		h.publishSessionError(s, message)
	})
}

func (h promptHandlers) newPartID() session.PartID {
	return session.PartID(h.IDs.New(session.PrefixPart))
}

// commandIn is a request to run a command of the location.
type commandIn struct {
	sessionIn
	Body opencode.CommandInput `body:"required"`
}

// runCommand prompts the session with the prompt of a command, answers as prompt does, and tells the streams.
func (h promptHandlers) runCommand(ctx context.Context, in commandIn) (m opencode.Message, err error) {
	b := &in.Body
	if err = b.Check(); err == nil {
		err = checkMessageID(b.MessageID)
	}
	if err != nil {
		return m, httpio.WithPart("body", err)
	}
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return m, err
	}
	// Expand the template, which may run commands, and admit the prompt that it gives.
	p, err := h.expandCommand(ctx, s, b)
	if err != nil {
		return m, inBody(err)
	}
	admitted, err := h.Commands.AdmitPrompt(ctx, admit.PromptRequest{
		SessionID: s.ID, ID: b.MessageID, Prompt: p, Named: true, Variant: b.Variant, ReadFiles: h.attachFiles,
	})
	if err != nil {
		return m, inBody(opencode.TranslateErrorPath(err, p, b.PartPath(p)))
	}
	// The notice has the id of the answer, so it follows it.
	if m, err = h.waitForAnswer(ctx, admitted); err != nil {
		return m, err
	}
	id, _ := opencode.IDAndTime(m.Info)
	h.notices.Send(notice{
		directory: s.Location.Directory, project: s.ProjectID, kind: "command.executed",
		properties: opencode.CommandExecution{
			Name:      *b.Command,
			SessionID: s.ID,
			Arguments: *b.Arguments,
			MessageID: id,
		},
	})
	return m, nil
}

func (h promptHandlers) expandCommand(
	ctx context.Context, s *session.Session, b *opencode.CommandInput,
) (p session.Prompt, err error) {
	l, err := h.Backend.Location(ctx, s.Location)
	if err != nil {
		return p, err
	}
	r := api.ExpandRequest{Command: *b.Command, Arguments: *b.Arguments}
	x, err := l.Expand(ctx, r, func(ctx context.Context, n command.Needs) (bool, error) {
		ctx, end := h.long.Start(ctx, "")
		defer end()
		return h.Asks.AuthorizeTemplate(ctx, ask.TemplateRequest{
			SessionID: s.ID, Agent: cmp.Or(n.Agent, b.Agent), Lines: n.Lines, Files: n.Files,
		})
	})
	if err != nil {
		return p, err
	}
	return b.Prompt(x.Prompt, h.newPartID)
}

// initRequest is the body of session.init.
type initRequest struct {
	ProviderID string            `json:"providerID"`
	ModelID    string            `json:"modelID"`
	MessageID  session.MessageID `json:"messageID"`
}

// Validate implements operation.Validator.
func (b *initRequest) Validate() error {
	return requireMembers("providerID", b.ProviderID, "modelID", b.ModelID, "messageID", string(b.MessageID))
}

// runInit runs the command init, for older clients.
func (h promptHandlers) runInit(ctx context.Context, in struct {
	sessionIn
	Body initRequest `body:"required"`
},
) (bool, error) {
	name, arguments := "init", ""
	b := opencode.CommandInput{
		MessageID: in.Body.MessageID, Command: &name, Arguments: &arguments,
		Model: in.Body.ProviderID + "/" + in.Body.ModelID,
	}
	_, err := h.runCommand(ctx, commandIn{in.sessionIn, b})
	return true, err
}

// shellRequest is the body of session.shell.
type shellRequest struct {
	MessageID session.MessageID `json:"messageID,omitzero"`
	Agent     string            `json:"agent"`
	Model     *opencode.Model   `json:"model,omitzero"`
	Command   *string           `json:"command"`
}

// Validate implements operation.Validator.
func (b *shellRequest) Validate() error {
	if err := requireMembers("agent", b.Agent); err != nil {
		return err
	}
	if b.Command == nil {
		return missingMember("command")
	}
	return checkMessageID(b.MessageID)
}

// runShell runs a shell command of the user and answers with the message that shows the call.
func (h promptHandlers) runShell(ctx context.Context, in struct {
	sessionIn
	Body shellRequest `body:"required"`
},
) (m opencode.Message, err error) {
	b := in.Body
	q := admit.ShellRequest{SessionID: in.SessionID, ID: b.MessageID, Command: *b.Command, Agent: b.Agent}
	if b.Model != nil {
		q.Model = &session.ModelRef{ID: b.Model.ModelID, ProviderID: b.Model.ProviderID, Variant: b.Model.Variant}
	}
	if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
		return m, err
	}
	long, end := h.long.Start(ctx, "")
	defer end()
	sh, err := h.Commands.RunShell(long, q)
	switch {
	case err != nil && isShutdown(ctx, long, err):
		return m, session.Errorf(session.CodeUnavailable, "cairn is shutting down; the output of the command is stored")
	case err != nil:
		return m, inBody(err)
	}
	return store.Query(ctx, h.Store, func(rd store.Reader) (opencode.Message, error) {
		return readMessage(rd, q.SessionID, sh.AnswerID)
	})
}
