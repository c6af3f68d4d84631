package v2

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// shownInput is an admitted prompt as this caller sees it.
func shownInput(i *session.Input, full bool) *session.Input {
	c := *i
	if !full {
		c.Order, c.Asks, c.Hold = 0, "", false
	}
	return &c
}

func (a *API) inbox(w http.ResponseWriter, r *http.Request) error {
	ins, err := a.engine.Commands.ListPending(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	if ins == nil {
		ins = []*session.Input{}
	}
	return data(w, ins)
}

func (a *API) reorder(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.InboxOrder](r)
	if err == nil {
		err = httpio.WithPart("body", a.engine.Commands.ReorderPrompts(r.Context(), sessionOf(r), b.MessageIDs))
	}
	if err != nil {
		return err
	}
	return done(w)
}

// changeInput edits a pending prompt, or redirects it, or both.
func (a *API) changeInput(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.InputPatch](r)
	if err == nil && b.Prompt == nil && b.Delivery == "" {
		err = httpio.Invalid("body", "", "the body must have prompt, or delivery, or both")
	}
	if err == nil {
		err = httpio.WithPart("body", a.engine.Commands.ChangePrompt(r.Context(), sessionOf(r), messageOf(r), command.PromptChange{Prompt: b.Prompt, Delivery: b.Delivery}))
	}
	if err != nil {
		return err
	}
	return done(w)
}

func (a *API) withdraw(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Commands.WithdrawPrompt(r.Context(), sessionOf(r), messageOf(r)); err != nil {
		return err
	}
	return done(w)
}
