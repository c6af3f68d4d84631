package v1

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

func commandRoutes() []Route {
	return []Route{
		{post, "/session/{sessionID}/command", "session.command", (*API).command},
		{post, "/session/{sessionID}/init", "session.init", (*API).initialize},
	}
}

// command prompts the session with a command's prompt and answers as prompt does.
func (a *API) command(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[opencode.CommandInput](r)
	if err != nil {
		return err
	}
	m, err := a.commanded(r, &b)
	if err != nil {
		return err
	}
	return write(w, m)
}

// initOrder is the body of session.init.
type initOrder struct {
	ProviderID string            `json:"providerID"`
	ModelID    string            `json:"modelID"`
	MessageID  session.MessageID `json:"messageID"`
}

// needs refuses a body that lacks one of the members: their names and what they say, in pairs.
func needs(members ...string) error {
	for i := 0; i+1 < len(members); i += 2 {
		if members[i+1] == "" {
			return httpio.Invalid("body", members[i], "Missing key")
		}
	}
	return nil
}

// initialize has the project described for agents: it is the command init, of older clients.
func (a *API) initialize(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[initOrder](r)
	if err == nil {
		err = needs("providerID", b.ProviderID, "modelID", b.ModelID, "messageID", string(b.MessageID))
	}
	if err != nil {
		return err
	}
	name, none := "init", ""
	in := opencode.CommandInput{MessageID: b.MessageID, Command: &name, Arguments: &none, Model: b.ProviderID + "/" + b.ModelID}
	if _, err := a.commanded(r, &in); err != nil {
		return err
	}
	return yes(w)
}

// commanded returns the answer to a command, and tells who listens that it was given.
func (a *API) commanded(r *http.Request, b *opencode.CommandInput) (m opencode.Message, err error) {
	if err := b.Check(); err != nil {
		return m, httpio.WithPart("body", err)
	}
	if err := checkMessageID(b.MessageID); err != nil {
		return m, err
	}
	s, err := a.read(r)
	if err != nil {
		return m, err
	}
	p, err := a.expanded(r.Context(), s, b)
	if err != nil {
		return m, inBody(err)
	}
	in, err := a.engine.Commands.AdmitPrompt(r.Context(), command.PromptRequest{SessionID: s.ID, ID: b.MessageID, Prompt: p, Named: true, Variant: b.Variant})
	if err != nil {
		return m, inBody(opencode.TranslateErrorPath(err, p, b.PartPath(p)))
	}
	if m, err = a.awaited(r, in); err != nil {
		return m, err
	}
	id, _ := opencode.IDAndTime(m.Info)
	a.notices.tell(notice{
		directory: s.Location.Directory, project: s.ProjectID, kind: "command.executed",
		properties: opencode.CommandExecution{Name: *b.Command, SessionID: s.ID, Arguments: *b.Arguments, MessageID: id},
	})
	return m, nil
}

func (a *API) expanded(ctx context.Context, s *session.Session, b *opencode.CommandInput) (session.Prompt, error) {
	x, err := a.places.Expand(ctx, s.Location, api.ExpandRequest{Command: *b.Command, Arguments: *b.Arguments})
	if err != nil {
		return session.Prompt{}, err
	}
	p, err := b.Prompt(x.Prompt, a.partID)
	if err == nil {
		a.attach(ctx, s, &p)
	}
	return p, err
}

func (a *API) partID() session.PartID { return session.PartID(a.ids.New(session.PrefixPart)) }
