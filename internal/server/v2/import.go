package v2

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// importSession takes one piece of a session that was made elsewhere, to live at the request's location.
func (a *API) importSession(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.ImportRequest](r)
	if err != nil {
		return err
	}
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	b.Session.Location = l
	got, err := a.engine.Commands.ImportSession(r.Context(), command.ImportRequest{Session: b.Session, IDs: b.IDs, After: b.After, Messages: b.Messages})
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return data(w, api.Imported{Session: *shown(got.Session, full(r)), Messages: got.Messages})
}
