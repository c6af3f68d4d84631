package v1

import (
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func editRoutes() []Route {
	return []Route{
		{del, "/session/{sessionID}/message/{messageID}", "session.deleteMessage", (*API).removeMessage},
		{del, "/session/{sessionID}/message/{messageID}/part/{partID}", "part.delete", (*API).removePart},
		{patch, "/session/{sessionID}/message/{messageID}/part/{partID}", "part.update", (*API).changePart},
	}
}

// removeMessage takes a message out of the history, or a prompt that waits out of the inbox.
func (a *API) removeMessage(w http.ResponseWriter, r *http.Request) error {
	id, m := sessionOf(r), messageOf(r)
	if _, err := a.known(r); err != nil {
		return err
	}
	sh, err := view(r.Context(), a, func(rd store.Reader) (*session.Shell, error) { return readShell(rd, id, m) })
	if err != nil {
		return err
	}
	if sh != nil {
		m = sh.ID // both halves go
	}
	if err := a.engine.Commands.RemoveMessage(r.Context(), id, m); err != nil {
		return err
	}
	return yes(w)
}

// known returns the message of the request, which must be there.
func (a *API) known(r *http.Request) (opencode.Message, error) {
	return view(r.Context(), a, func(rd store.Reader) (opencode.Message, error) {
		return readMessage(rd, sessionOf(r), messageOf(r))
	})
}

// part returns the part of the request, which must be there.
func (a *API) part(r *http.Request) (opencode.Part, error) {
	m, err := a.known(r)
	if err != nil {
		return nil, err
	}
	id := session.PartID(r.PathValue("partID"))
	i := slices.IndexFunc(m.Parts, func(p opencode.Part) bool { return opencode.PartID(p) == id })
	if i < 0 {
		return nil, session.NotFound("part", string(id))
	}
	return m.Parts[i], nil
}

func (a *API) removePart(w http.ResponseWriter, r *http.Request) error {
	p, err := a.part(r)
	if err != nil {
		return err
	}
	if err := a.edit(r, p, nil); err != nil {
		return err
	}
	return yes(w)
}

func (a *API) changePart(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[opencode.PartChange](r)
	if err != nil {
		return err
	}
	p, err := a.part(r)
	if err == nil {
		err = httpio.WithPart("body", b.Check(p))
	}
	if err == nil {
		err = a.edit(r, p, &b.PartInput)
	}
	if err == nil {
		p, err = a.part(r)
	}
	if err != nil {
		return err
	}
	return write(w, p)
}

// edit changes a part of the message of the request, or, with nil, takes it out.
func (a *API) edit(r *http.Request, p opencode.Part, to *opencode.PartInput) error {
	id, m, part := sessionOf(r), messageOf(r), opencode.PartID(p)
	u, err := view(r.Context(), a, func(rd store.Reader) (*session.User, error) { return readPrompt(rd, id, m) })
	if err != nil {
		return err
	}
	if u != nil {
		prompt, err := opencode.SplitPrompt(u, part, to)
		if err != nil {
			return httpio.WithPart("body", err)
		}
		err = a.engine.Commands.EditPrompt(r.Context(), id, m, part, prompt)
		return httpio.WithPart("body", opencode.TranslateErrorPath(err, prompt, func(_ int, member string) string { return member }))
	}
	switch p.(type) {
	case *opencode.TextPart, *opencode.ReasoningPart, *opencode.ToolPart:
	default:
		return httpio.WithPart("params", session.Errorf(session.CodeInvalid, "the beginning and the end of a step stay as they are").At("partID"))
	}
	if to == nil {
		return a.engine.Commands.RemovePart(r.Context(), id, m, part)
	}
	text := ""
	if to.Text != nil {
		text = *to.Text
	}
	return httpio.WithPart("body", a.engine.Commands.EditPart(r.Context(), id, m, part, text))
}

// readPrompt returns the prompt with the id, of the history or waiting; nil if the message is none.
func readPrompt(rd store.Reader, id session.ID, m session.MessageID) (*session.User, error) {
	in, ok, err := store.FindInput(rd, m)
	if err != nil {
		return nil, err
	}
	if ok && in.SessionID == id && in.PromotedSeq == nil {
		return opencode.InputMessage(in), nil
	}
	found, _, err := store.FindMessage(rd, id, m)
	u, _ := found.(*session.User)
	return u, err
}
