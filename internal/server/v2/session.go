package v2

import (
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// shown is a session as this caller sees it. A model without variant reads as the variant "default".
func shown(s *session.Session, full bool) *session.Session {
	c := *s
	if c.Model != nil && c.Model.Variant == "" {
		m := *c.Model
		m.Variant = "default"
		c.Model = &m
	}
	if !full {
		c.Slug, c.Version, c.TitledBy, c.Permission, c.Budget, c.Todos, c.Metadata, c.Changes, c.Import, c.Extra = "", "", "", nil, nil, nil, nil, nil, nil, nil
		c.Tokens.Total = 0
	}
	return &c
}

func shownAll(ss []*session.Session, full bool) []*session.Session {
	out := make([]*session.Session, len(ss))
	for i, s := range ss {
		out[i] = shown(s, full)
	}
	return out
}

func mustSession(r store.Reader, id session.ID) (*session.Session, error) {
	s, ok, err := r.Session(id)
	if err == nil && !ok {
		err = session.NotFound("session", string(id))
	}
	return s, err
}

func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.DecodeOptional[api.CreateSession](r)
	if err != nil {
		return err
	}
	l, placed, err := a.place(r)
	if b.Location != nil {
		placed = true
		l, err = httpio.CleanLocation(*b.Location)
		err = httpio.WithPart("body", err)
	}
	if err != nil {
		return err
	}
	s, err := a.engine.Commands.CreateSession(r.Context(), command.CreateRequest{
		ID: b.ID, ParentID: b.ParentID, Agent: b.Agent, Model: b.Model, Location: l, Unplaced: !placed, Title: b.Title,
		Permission: b.Permission, Budget: b.Budget,
	})
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return data(w, shown(s, full(r)))
}

func (a *API) session(w http.ResponseWriter, r *http.Request) error {
	s, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
	if err != nil {
		return err
	}
	return data(w, shown(s, full(r)))
}

func (a *API) children(w http.ResponseWriter, r *http.Request) error {
	id := sessionOf(r)
	ss, err := view(r.Context(), a, func(rd store.Reader) ([]*session.Session, error) {
		if _, err := mustSession(rd, id); err != nil {
			return nil, err
		}
		return store.ReadSessions(rd, store.SessionQuery{ParentID: &id, Archived: true, Oldest: true})
	})
	if err != nil {
		return err
	}
	return data(w, shownAll(ss, full(r)))
}

// update changes what the patch names, each by its own fact, and answers with the session as it is then.
func (a *API) update(w http.ResponseWriter, r *http.Request) error {
	p, err := httpio.Decode[api.SessionPatch](r)
	if err != nil {
		return err
	}
	change := command.SessionChange{Title: p.Title, Archived: p.Archived, Permission: p.Permission}
	if err := a.engine.Commands.ChangeSession(r.Context(), sessionOf(r), change); err != nil {
		return httpio.WithPart("body", err)
	}
	return a.session(w, r)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Commands.DeleteSession(r.Context(), sessionOf(r)); err != nil {
		return err
	}
	a.endStreamsOfGone(context.WithoutCancel(r.Context()))
	return done(w)
}

func (a *API) switchAgent(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.AgentRequest](r)
	if err == nil && b.Agent == "" {
		err = httpio.Invalid("body", "agent", "agent is missing: it must name an agent")
	}
	if err == nil {
		err = httpio.WithPart("body", a.engine.Commands.SwitchAgent(r.Context(), sessionOf(r), b.Agent))
	}
	if err != nil {
		return err
	}
	return done(w)
}

func (a *API) switchModel(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.ModelRequest](r)
	if err == nil && (b.Model == nil || b.Model.ID == "" || b.Model.ProviderID == "") {
		err = httpio.Invalid("body", "model", "model is missing: it must have id and providerID")
	}
	if err == nil {
		err = httpio.WithPart("body", a.engine.Commands.SwitchModel(r.Context(), sessionOf(r), *b.Model))
	}
	if err != nil {
		return err
	}
	return done(w)
}

func (a *API) setBudget(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.BudgetRequest](r)
	if err == nil {
		err = httpio.WithPart("body", a.engine.Commands.SetBudget(r.Context(), sessionOf(r), b.Budget))
	}
	if err != nil {
		return err
	}
	return done(w)
}

// prompt admits a prompt: the first step of docs/WALK.md.
func (a *API) prompt(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.PromptRequest](r)
	if err != nil {
		return err
	}
	if b.Prompt == nil {
		return httpio.Invalid("body", "prompt", "prompt is missing: it must be an object with text")
	}
	input, err := a.engine.Commands.AdmitPrompt(r.Context(), command.PromptRequest{
		SessionID: sessionOf(r), ID: b.ID, Prompt: *b.Prompt, Delivery: b.Delivery, Asks: b.Asks,
		Hold: b.Resume != nil && !*b.Resume,
	})
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return data(w, shownInput(input, full(r)))
}

func (a *API) interrupt(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Interrupt(r.Context(), sessionOf(r)); err != nil {
		return err
	}
	return done(w)
}

func (a *API) wait(w http.ResponseWriter, r *http.Request) error {
	return a.lasting(w, r, a.engine.Wait)
}

// resume answers when the work is over. How it ended is recorded in the session, so that only what kept it from
// beginning is told here.
func (a *API) resume(w http.ResponseWriter, r *http.Request) error {
	return a.lasting(w, r, func(ctx context.Context, id session.ID) error {
		err := a.engine.Resume(ctx, id)
		if err != nil && ctx.Err() == nil && !errors.Is(err, cause.ErrShutdown) && httpio.PublicError(err).Code == session.CodeInternal {
			return nil
		}
		return err
	})
}

// lasting answers when the work is over, or that the server stops.
func (a *API) lasting(w http.ResponseWriter, r *http.Request, work func(context.Context, session.ID) error) error {
	ctx, end := a.long.Start(r, "")
	defer end()
	err := work(ctx, sessionOf(r))
	switch {
	case ctx.Err() != nil && r.Context().Err() == nil, errors.Is(err, cause.ErrShutdown):
		return httpio.ErrShuttingDown
	case err != nil:
		return err
	default:
		return done(w)
	}
}

func (a *API) active(w http.ResponseWriter, _ *http.Request) error {
	out := map[session.ID]api.Active{}
	for _, id := range a.engine.Active() {
		out[id] = api.Active{Type: "running"}
	}
	return data(w, out)
}

func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	_, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
	if err != nil {
		return err
	}
	s := a.engine.Status(sessionOf(r))
	return data(w, api.Status{Type: string(s.Type), Attempt: s.Attempt, Message: s.Message, Next: s.Next})
}

// todos lists what the model has set itself to do.
func (a *API) todos(w http.ResponseWriter, r *http.Request) error {
	s, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
	if err != nil {
		return err
	}
	return data(w, append([]session.Todo{}, s.Todos...))
}
