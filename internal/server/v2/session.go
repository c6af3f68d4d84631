package v2

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionHandlers reads and changes sessions.
type sessionHandlers struct{ *dependencies }

// publicSession returns a session as a client sees it: without the additional fields unless the client asks for them. A
// model without a variant has the variant "default".
func publicSession(s *session.Session, all allFields) session.Session {
	c := *s
	if !all { // the members of OpenCode's document
		c = session.Session{
			ID: s.ID, ParentID: s.ParentID, ProjectID: s.ProjectID, Agent: s.Agent, Model: s.Model, Cost: s.Cost,
			Tokens: s.Tokens, Time: s.Time, Title: s.Title, Location: s.Location, Subpath: s.Subpath,
		}
		c.Tokens.Total, c.Tokens.Unpriced = 0, 0
	}
	if c.Model != nil && c.Model.Variant == "" {
		m := *c.Model
		m.Variant = "default"
		c.Model = &m
	}
	c.Revert = publicRevert(s.Revert, all)
	return c
}

// publicRevert returns a revert as a client sees it.
func publicRevert(r *session.Revert, all allFields) *session.Revert {
	if r == nil || all {
		return r
	}
	c := *r
	c.Exclusive, c.Phase, c.FilesOnly = false, "", false
	c.Files = make([]session.RevertedFile, len(r.Files))
	for i, f := range r.Files {
		f.Undone, f.From, f.To = "", session.PathState{}, session.PathState{}
		c.Files[i] = f
	}
	return &c
}

func (h sessionHandlers) create(ctx context.Context, in struct {
	Location operation.Location
	All      allFields
	Body     api.CreateSession `body:"optional"`
},
) (out api.Data[session.Session], err error) {
	b, l, named := in.Body, in.Location.Location, in.Location.Named
	if b.Location != nil {
		named = true
		if l, err = httpio.CleanLocation(*b.Location); err != nil {
			return out, httpio.WithPart("body", err)
		}
	}
	s, err := h.Commands.CreateSession(ctx, admit.CreateRequest{
		ID: b.ID, ParentID: b.ParentID, Agent: b.Agent, Model: b.Model, Location: l, Unplaced: !named, Title: b.Title,
		Permission: append(b.Permission, b.Permissions...), Metadata: b.Metadata, Budget: b.Budget, Sandbox: b.Sandbox,
		Timezone: b.Timezone, Ephemeral: b.Ephemeral, Contract: session.ContractV2, RequireModel: b.RequireModel,
		Open: !b.Asks && caller.FromContext(ctx).Role >= caller.Approve,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(publicSession(s, in.All)), nil
}

// importSession adds a part of a session from elsewhere. The session lives at the location of the request.
func (h sessionHandlers) importSession(ctx context.Context, in struct {
	Location operation.Location
	All      allFields
	Body     api.ImportRequest `body:"required"`
},
) (out api.Data[api.ImportResult], err error) {
	b := in.Body
	b.Session.Location = in.Location.Location
	imported, err := h.Commands.ImportSession(ctx, admit.ImportRequest{
		Session: b.Session, Extends: b.Extends, IDs: b.IDs, Outline: b.Outline, After: b.After, Messages: b.Messages,
		DryRun: b.DryRun,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(api.ImportResult{
		Session: publicSession(imported.Session, in.All), Messages: imported.Messages, Completed: imported.Completed,
	}), nil
}

func (h sessionHandlers) get(ctx context.Context, in sessionFieldsIn) (out api.Data[session.Session], err error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return out, err
	}
	return newData(publicSession(s, in.All)), nil
}

func (h sessionHandlers) listChildren(ctx context.Context, in sessionFieldsIn) (api.Data[[]session.Session], error) {
	children, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]*session.Session, error) {
		if _, err := store.FindSession(rd, in.SessionID); err != nil {
			return nil, err
		}
		return store.ReadSessions(rd, store.SessionQuery{ParentID: &in.SessionID, Archived: true, Oldest: true})
	})
	out := make([]session.Session, len(children))
	for i, s := range children {
		out[i] = publicSession(s, in.All)
	}
	return newData(out), err
}

// update changes what the patch names, each as one event, and returns the session.
func (h sessionHandlers) update(ctx context.Context, in struct {
	sessionIn
	All  allFields
	Body api.SessionPatch `body:"required"`
},
) (out api.Data[session.Session], err error) {
	b := in.Body
	err = h.Commands.ChangeSession(ctx, in.SessionID, admit.SessionChange{
		Title: b.Title, Summary: b.Summary, Archived: b.Archived, Permission: cmp.Or(b.Permission, b.Permissions),
		Metadata: b.Metadata, Tags: session.TagChange{Replace: b.Tags, Add: b.AddTags, Remove: b.RemoveTags},
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return h.get(ctx, sessionFieldsIn{in.sessionIn, in.All})
}

// updateSummary returns the session's summary, written anew if the session has worked since; null without any work.
func (h sessionHandlers) updateSummary(ctx context.Context, in sessionIn) (api.Data[*session.ProseSummary], error) {
	s, err := h.Runs.SummarizeSession(ctx, in.SessionID)
	return newData(s), err
}

// move makes the session go on in another directory, at the next boundary between two turns: in the one that the request
// names, else in that to which its project was moved.
func (h sessionHandlers) move(ctx context.Context, in bodyOf[api.MoveRequest]) (none operation.None, err error) {
	return none, httpio.WithPart("body", h.Commands.MoveSession(ctx, admit.MoveRequest{
		SessionID: in.SessionID, Directory: in.Body.Directory, Changes: in.Body.Changes, OtherProject: in.Body.OtherProject,
	}))
}

func (h sessionHandlers) delete(ctx context.Context, in sessionIn) (operation.None, error) {
	if err := h.Commands.DeleteSession(ctx, in.SessionID); err != nil {
		return operation.None{}, err
	}
	h.endDeletedStreams(context.WithoutCancel(ctx))
	return operation.None{}, nil
}

// endDeletedStreams ends the streams of sessions that no longer exist. The log would never send anything on them.
func (h sessionHandlers) endDeletedStreams(ctx context.Context) {
	for id := range h.long.StreamedSessions() {
		_, err := store.ReadSession(ctx, h.Store, id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			h.long.CancelSession(id, err)
		}
	}
}

func (h sessionHandlers) switchAgent(
	ctx context.Context,
	in bodyOf[api.AgentRequest],
) (none operation.None, err error) {
	if in.Body.Agent == "" {
		return none, httpio.NewInvalid("body", "agent", "agent is missing: it must name an agent")
	}
	return none, httpio.WithPart("body", h.Commands.SwitchAgent(ctx, in.SessionID, in.Body.Agent))
}

func (h sessionHandlers) switchModel(
	ctx context.Context,
	in bodyOf[api.ModelRequest],
) (none operation.None, err error) {
	m := in.Body.Model
	if m == nil || m.ID == "" || m.ProviderID == "" {
		return none, httpio.NewInvalid("body", "model", "model is missing: it must have id and providerID")
	}
	return none, httpio.WithPart("body", h.Commands.SwitchModel(ctx, in.SessionID, *m))
}

func (h sessionHandlers) setBudget(ctx context.Context, in bodyOf[api.BudgetRequest]) (operation.None, error) {
	return operation.None{}, httpio.WithPart("body", h.Commands.SetBudget(ctx, in.SessionID, in.Body.Budget))
}

// getBudget returns the budget with what counts against it.
func (h sessionHandlers) getBudget(ctx context.Context, in sessionIn) (api.Data[api.SessionBudget], error) {
	out, err := store.Query(ctx, h.Store, func(rd store.Reader) (out api.SessionBudget, err error) {
		s, err := store.FindSession(rd, in.SessionID)
		if err != nil {
			return out, err
		}
		cost, tokens, err := store.SumDescendants(rd, s.ID)
		return api.SessionBudget{Budget: s.Budget, Cost: s.Cost + cost, Tokens: s.Tokens.Add(tokens)}, err
	})
	return newData(out), err
}

// admitPrompt admits a prompt and wakes its session.
func (h sessionHandlers) admitPrompt(ctx context.Context, in struct {
	sessionIn
	All  allFields
	Body api.PromptRequest `body:"required"`
},
) (out api.Data[session.Input], err error) {
	b := in.Body
	if b.Prompt == nil {
		return out, httpio.NewInvalid("body", "prompt", "prompt is missing: it must be an object with text")
	}
	admitted, err := h.Commands.AdmitPrompt(ctx, admit.PromptRequest{
		SessionID: in.SessionID, ID: b.ID, Prompt: *b.Prompt, Delivery: b.Delivery, Asks: b.Asks,
		Hold: b.Resume != nil && !*b.Resume, Recovery: b.Recovery, ReadFiles: h.attachFiles,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(publicInput(admitted, in.All)), nil
}

// attachFiles reads the files that the prompt names. The admission refuses those that do not exist.
func (h sessionHandlers) attachFiles(ctx context.Context, s *session.Session, p *session.Prompt) {
	if h.Files == nil {
		return
	}
	open := func() (attachment.Reader, error) { return h.Files.OpenAttachments(ctx, s.Location) }
	attachment.ReadFiles(ctx, s.ID, p, open, func(*session.File, string, string) {})
}

func (h sessionHandlers) interrupt(ctx context.Context, in sessionIn) (operation.None, error) {
	return operation.None{}, h.Runs.Interrupt(ctx, in.SessionID)
}

// wait answers when the session is idle. After the timeout, in milliseconds, it is unavailable: the client asks again.
func (h sessionHandlers) wait(ctx context.Context, in struct {
	sessionIn
	Timeout int64 `query:"timeout" default:"600000" min:"1" max:"600000"`
},
) (operation.None, error) {
	limit := time.Duration(in.Timeout) * time.Millisecond
	return h.runLong(ctx, in.SessionID, func(ctx context.Context, id session.ID) error {
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := h.Runs.Wait(bounded, id)
		if err != nil && bounded.Err() != nil && ctx.Err() == nil {
			late := session.Errorf(session.CodeUnavailable, "session %s still works after %s; wait again", id, limit)
			late.Kind = api.KindWorking
			return late
		}
		return err
	})
}

// recoverAll resumes what earlier processes left unfinished, as a server does at its start. A server that relays to
// this process asks for it.
func (h sessionHandlers) recoverAll(ctx context.Context, _ struct{}) (operation.None, error) {
	if h.Condition() != nil {
		return operation.None{}, h.Condition()
	}
	_, err := h.Runs.Recover(ctx)
	return operation.None{}, err
}

// resume answers when the work is over. The session records how it ended; the response reports only what prevented it
// from starting.
func (h sessionHandlers) resume(ctx context.Context, in sessionIn) (operation.None, error) {
	return h.runLong(ctx, in.SessionID, func(ctx context.Context, id session.ID) error {
		err := h.Runs.Resume(ctx, id)
		if err == nil || ctx.Err() != nil || errors.Is(err, turnlog.ErrShutdown) {
			return err
		}
		if httpio.PublicError(err).Code == session.CodeInternal {
			return nil
		}
		return err
	})
}

// runLong runs work that ends early when the server shuts down.
func (h sessionHandlers) runLong(
	ctx context.Context, id session.ID, work func(context.Context, session.ID) error,
) (operation.None, error) {
	long, end := h.long.Start(ctx, "")
	defer end()
	err := work(long, id)
	if long.Err() != nil && ctx.Err() == nil || errors.Is(err, turnlog.ErrShutdown) {
		err = httpio.ErrShuttingDown
	}
	return operation.None{}, err
}

// listActive lists the sessions at work here and, with all, those that wait with work that was cut off.
func (h sessionHandlers) listActive(
	ctx context.Context, in struct {
		All allFields `query:"all"`
	},
) (api.Data[map[session.ID]api.Active], error) {
	out := map[session.ID]api.Active{}
	for _, id := range h.Runs.Active() {
		out[id] = api.Active{Type: api.TypeRunning}
	}
	if !in.All {
		return newData(out), nil
	}
	// A session is marked as unfinished while a job of it runs, also in this process: that is no sign of a cut-off.
	hasJob := map[session.ID]bool{}
	for _, j := range h.Jobs.ListRunning() {
		hasJob[j.SessionID] = true
	}
	err := h.Store.View(ctx, func(r store.Reader) error {
		ids, err := r.Unfinished(0)
		for _, id := range ids {
			if _, isRunning := out[id]; isRunning || hasJob[id] || err != nil {
				continue
			}
			var s *session.Session
			if s, err = store.FindSession(r, id); err == nil {
				out[id] = api.Active{Type: api.TypeUnfinished, Directory: s.Location.Directory}
			}
		}
		return err
	})
	return newData(out), err
}

func (h sessionHandlers) getStatus(ctx context.Context, in sessionIn) (out api.Data[api.Status], err error) {
	if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
		return out, err
	}
	s := h.Runs.Status(in.SessionID)
	return newData(api.Status{Type: string(s.Type), Attempt: s.Attempt, Message: s.Message, Next: s.Next}), nil
}

// listTodos lists the todo list of the model.
func (h sessionHandlers) listTodos(ctx context.Context, in sessionIn) (out api.Data[[]session.Todo], err error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return out, err
	}
	return newData(append([]session.Todo{}, s.Todos...)), nil
}
