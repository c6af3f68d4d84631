package v1

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func promptRoutes() []Route {
	return []Route{
		{post, "/session/{sessionID}/message", "session.prompt", (*API).prompt},
		{post, "/session/{sessionID}/prompt_async", "session.prompt_async", (*API).promptAsync},
	}
}

// prompt admits a prompt and answers with the newest message of the model once the session rests. How the work ended is
// said there, also when it failed.
func (a *API) prompt(w http.ResponseWriter, r *http.Request) error {
	in, silent, err := a.admit(r)
	if err != nil {
		return err
	}
	if silent {
		m, err := view(r.Context(), a, func(rd store.Reader) (opencode.Message, error) {
			return readMessage(rd, in.SessionID, in.ID)
		})
		if err != nil {
			return err
		}
		return write(w, m)
	}
	m, err := a.awaited(r, in)
	if err != nil {
		return err
	}
	return write(w, m)
}

// awaited returns the newest message of the model once the prompt's session rests and the open streams have said so:
// OpenCode's "run --attach" reads the events on another connection and leaves as soon as its prompt is answered, with what it
// has printed by then.
func (a *API) awaited(r *http.Request, in *session.Input) (m opencode.Message, err error) {
	ctx, end := a.long.Start(r, "")
	defer end()
	if err := a.engine.Wait(ctx, in.SessionID); err != nil {
		if closing(ctx, r, err) {
			err = session.Errorf(session.CodeUnavailable, "cairn is shutting down; the prompt is kept and goes on with the next start")
		}
		return m, err
	}
	a.handed.await(ctx, a.log.NewestMark())
	return view(r.Context(), a, func(rd store.Reader) (opencode.Message, error) { return newestAnswer(rd, in) })
}

// closing reports whether a wait for work ended because the server does, not because the client left.
func closing(ctx context.Context, r *http.Request, err error) bool {
	return ctx.Err() != nil && r.Context().Err() == nil || errors.Is(err, cause.ErrShutdown)
}

func (a *API) promptAsync(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := a.admit(r); err != nil {
		return err
	}
	return done(w)
}

// admit puts the prompt of the request to its session. Silent: no answer is wanted.
func (a *API) admit(r *http.Request) (in *session.Input, silent bool, err error) {
	b, err := httpio.Decode[opencode.PromptInput](r)
	if err != nil {
		return nil, false, err
	}
	s, err := a.read(r)
	if err != nil {
		return nil, false, err
	}
	p, err := b.Prompt(a.partID)
	if err != nil {
		return nil, false, httpio.WithPart("body", err)
	}
	if err := checkMessageID(b.MessageID); err != nil {
		return nil, false, err
	}
	if rules := b.Rules(); rules != nil {
		if err := a.engine.Commands.ChangeSession(r.Context(), sessionOf(r), command.SessionChange{Permission: &rules}); err != nil {
			return nil, false, httpio.WithPart("body", err)
		}
	}
	a.attach(r.Context(), s, &p)
	in, err = a.engine.Commands.AdmitPrompt(r.Context(), command.PromptRequest{
		SessionID: sessionOf(r), ID: b.MessageID, Prompt: p, Named: true, Variant: b.Variant, Hold: b.NoReply,
	})
	return in, b.NoReply, inBody(opencode.TranslateErrorPath(err, p, opencode.PartField))
}

// attach reads the files that the prompt brings by name, for the model and for who looks at it. One that cannot be read, or
// that somebody would have to be asked for, stays a name.
func (a *API) attach(ctx context.Context, s *session.Session, p *session.Prompt) {
	for i := range p.Files {
		f := &p.Files[i]
		page, ok := opencode.PageOf(*f)
		if !ok {
			continue
		}
		text, whole, err := a.places.Attached(ctx, s.Location, s.ID, page)
		switch {
		case err != nil:
		case whole != nil:
			f.URI, f.Mime = whole.URI, whole.Mime
		default:
			f.Text = text
		}
	}
}

// checkMessageID refuses a messageID of a body that can be nobody's; "" is none.
func checkMessageID(id session.MessageID) error {
	if id == "" {
		return nil
	}
	return httpio.WithPart("body", session.CheckID("messageID", session.PrefixMessage, string(id)))
}

// inBody says that the error is about the body, if it does not say where it is. An agent, a model, its variant or a command that is not there is a mistake in it: what is not
// found is what the path names.
func inBody(err error) error {
	if httpio.ErrorPart(err) != "" {
		return err
	}
	chosen := []string{"agent", "model", "provider", "variant", "command"}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeNotFound && slices.Contains(chosen, e.Kind) {
		field := e.Kind
		switch {
		case strings.HasPrefix(e.Field, "parts["):
			field = e.Field
		case e.Kind == "provider":
			field = "model"
		}
		err = session.Errorf(session.CodeInvalid, "%s", e.Error()).At(field).Because(err)
	}
	return httpio.WithPart("body", err)
}

// newestAnswer is the newest message of the model, or, if it never said anything, the prompt.
func newestAnswer(rd store.Reader, in *session.Input) (opencode.Message, error) {
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
