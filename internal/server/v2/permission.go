package v2

import (
	"errors"
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// shownAsk is a pending ask as this caller sees it.
func shownAsk(p session.PendingAsk, full bool) session.PendingAsk {
	if !full {
		return p.PublicForm()
	}
	if p.Resources == nil {
		p.Resources = []string{}
	}
	return p
}

func shownAsks(rows []*store.AskRow, full bool) []session.PendingAsk {
	out := make([]session.PendingAsk, len(rows))
	for i, row := range rows {
		out[i] = shownAsk(row.PendingAsk, full)
	}
	return out
}

func (a *API) asks(w http.ResponseWriter, r *http.Request) error {
	rows, err := a.engine.Asks.List(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	return data(w, shownAsks(slices.DeleteFunc(rows, isQuestion), full(r)))
}

// allAsks lists what waits for a reply in the sessions of the location.
func (a *API) allAsks(w http.ResponseWriter, r *http.Request) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	info, err := a.locations.Location(r.Context(), l)
	if err != nil {
		return err
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]*store.AskRow, error) { return asksAt(rd, l.Directory) })
	rows = slices.DeleteFunc(rows, isQuestion)
	if err != nil {
		return err
	}
	return write(w, api.Located[[]session.PendingAsk]{Location: info, Data: shownAsks(rows, full(r))})
}

func asksAt(rd store.Reader, directory string) ([]*store.AskRow, error) {
	rows, err := rd.Asks(store.AskQuery{Pending: true})
	var here []*store.AskRow
	for _, row := range rows {
		s, ok, err := rd.Session(row.SessionID)
		if err != nil {
			return nil, err
		}
		if ok && s.Location.Directory == directory {
			here = append(here, row)
		}
	}
	return here, err
}

func (a *API) pendingAsk(w http.ResponseWriter, r *http.Request) error {
	id, ask := sessionOf(r), session.AskID(r.PathValue("requestID"))
	row, err := view(r.Context(), a, func(rd store.Reader) (*store.AskRow, error) {
		if _, err := mustSession(rd, id); err != nil {
			return nil, err
		}
		row, ok, err := store.FindAsk(rd, ask)
		if err == nil && (!ok || row.SessionID != id || row.Reply != "" || isQuestion(row)) {
			err = session.NotFound("permission", string(ask))
		}
		return row, err
	})
	if err != nil {
		return err
	}
	return data(w, shownAsk(row.PendingAsk, full(r)))
}

// ask asks on behalf of a caller outside any tool call. It does not wait for the reply.
func (a *API) ask(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.AskRequest](r)
	switch {
	case err != nil:
	case b.Action == "":
		err = httpio.Invalid("body", "action", "action is missing: it must name what is to be permitted")
	case len(b.Resources) == 0:
		err = httpio.Invalid("body", "resources", "resources is missing: it must name at least one resource")
	case b.Metadata != nil && b.Metadata.Kind() != '{':
		err = httpio.Invalid("body", "metadata", "metadata must be an object")
	}
	if err != nil {
		return err
	}
	effect, id, err := a.engine.Asks.AskExternally(r.Context(), sessionOf(r), session.PendingAsk{
		ID: b.ID, Action: b.Action, Resources: b.Resources, Save: b.Save, Metadata: b.Metadata, Source: b.Source, Agent: b.Agent,
	})
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return data(w, api.Asked{ID: id, Effect: effect})
}

func (a *API) reply(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.ReplyRequest](r)
	if err == nil {
		ask := session.AskID(r.PathValue("requestID"))
		err = httpio.WithPart("body", noLonger(a.engine.Asks.Reply(r.Context(), sessionOf(r), ask, b.Reply, b.Message)))
	}
	if err != nil {
		return err
	}
	return done(w)
}

// noLonger makes of an ask that is answered already one that does not wait: all that OpenCode's document says of it.
func noLonger(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeConflict || e.Kind != "permission" {
		return err
	}
	gone := *e
	gone.Code = session.CodeNotFound
	return &gone
}

func (a *API) approvals(w http.ResponseWriter, r *http.Request) error {
	project, err := a.approvalScope(r)
	if err != nil {
		return err
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.Approval, error) { return rd.Approvals(project) })
	if err != nil {
		return err
	}
	out := make([]api.Approval, len(rows))
	for i, row := range rows {
		out[i] = api.Approval(row)
		if !full(r) {
			out[i].Time = 0
		}
	}
	return data(w, out)
}

// approvalScope is what saved approvals of the request's project stand under; "" is everything. The project "global" is
// many places: that of the request is meant.
func (a *API) approvalScope(r *http.Request) (session.ProjectID, error) {
	project := session.ProjectID(r.URL.Query().Get("projectID"))
	if project != "global" {
		return project, nil
	}
	l, _, err := a.place(r)
	if err != nil {
		return "", err
	}
	info, err := a.locations.Location(r.Context(), l)
	return session.ApprovalScope(project, session.Location{Directory: info.Directory}), err
}

func (a *API) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Asks.RevokeApproval(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return done(w)
}
