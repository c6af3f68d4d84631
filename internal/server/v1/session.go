package v1

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func sessionRoutes() []Route {
	return []Route{
		{get, "/session", "session.list", (*API).sessions},
		{post, "/session", "session.create", (*API).create},
		{get, "/session/status", "session.status", (*API).statuses},
		{get, "/session/{sessionID}", "session.get", (*API).session},
		{patch, "/session/{sessionID}", "session.update", (*API).update},
		{del, "/session/{sessionID}", "session.delete", (*API).remove},
		{get, "/session/{sessionID}/children", "session.children", (*API).children},
		{get, "/session/{sessionID}/todo", "session.todo", (*API).todos},
		{get, "/session/{sessionID}/diff", "session.diff", (*API).diff},
		{post, "/session/{sessionID}/abort", "session.abort", (*API).abort},
	}
}

func sessionOf(r *http.Request) session.ID { return session.ID(r.PathValue("sessionID")) }

// view is one read of the store that returns a value.
func view[T any](ctx context.Context, a *API, f func(store.Reader) (T, error)) (out T, err error) {
	err = a.store.View(ctx, func(r store.Reader) (err error) {
		out, err = f(r)
		return err
	})
	return out, err
}

func mustSession(r store.Reader, id session.ID) (*session.Session, error) {
	s, ok, err := r.Session(id)
	if err == nil && !ok {
		err = session.NotFound("session", string(id))
	}
	return s, err
}

// read returns the session of the request.
func (a *API) read(r *http.Request) (*session.Session, error) {
	return view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
}

// writeSessions answers with the rows, as of shows them.
func writeSessions[T any](w http.ResponseWriter, rows []store.RawSession, of func(*session.Session) T) error {
	room := 0
	for i := range rows {
		room += len(rows[i].Data) * 5 / 4
	}
	return httpio.List{Begin: "[", End: "]", Room: room}.Write(w, httpio.EncodeRows(rows, func(row store.RawSession) (v T, err error) {
		s, err := row.Session()
		if err == nil {
			v = of(s)
		}
		return v, err
	}))
}

const (
	defaultSessions = 100
	maxNumber       = 1<<53 - 1
)

// sessions lists those of the project: those with the path of the query or a deeper one, where it names one. Where it names
// none, but a directory, and not scope=project, it lists those of that directory. What changed last comes first.
func (a *API) sessions(w http.ResponseWriter, r *http.Request) error {
	q, err := listed(r, 0)
	if err != nil {
		return err
	}
	p, err := a.place(r)
	switch {
	case err != nil:
		return err
	case q.Limit == 0: // to the store that is all
		return write(w, []opencode.Session{})
	}
	v := r.URL.Query()
	q.ProjectID, q.Subpath, q.Archived = p.ProjectID, v.Get("path"), true
	if v.Get("directory") != "" && v.Get("scope") != "project" && !v.Has("path") {
		q.Directory = p.Directory
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawSession, error) { return rd.RawSessions(q) })
	if err != nil {
		return err
	}
	return writeSessions(w, rows, opencode.SessionOf)
}

// listed reads what both lists of sessions may be asked for, least of them at least.
func listed(r *http.Request, least int64) (q store.SessionQuery, err error) {
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: defaultSessions, Min: least, Max: maxNumber})
	if err != nil {
		return q, err
	}
	start, err := httpio.ReadNumber(r, "start", httpio.Range{Min: 0, Max: maxNumber})
	if err != nil {
		return q, err
	}
	roots, err := httpio.ReadChoice(r, "roots", "true", "false")
	if err != nil {
		return q, err
	}
	q = store.SessionQuery{Search: r.URL.Query().Get("search"), Recent: true, Since: start, Limit: int(limit)}
	if roots == "true" {
		q.ParentID = new(session.ID)
	}
	return q, nil
}

// newSession is the body of session.create.
type newSession struct {
	ParentID   session.ID      `json:"parentID"`
	Title      string          `json:"title"`
	Agent      string          `json:"agent"`
	Model      *sessionModel   `json:"model"`
	Metadata   jsontext.Value  `json:"metadata"`
	Permission []opencode.Rule `json:"permission"`
	Workspace  string          `json:"workspaceID"`
}

type sessionModel struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant"`
}

func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.DecodeOptional[newSession](r)
	if err != nil {
		return err
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	if b.Workspace != "" {
		return session.NotFound("workspace", b.Workspace)
	}
	if b.ParentID != "" {
		if err := session.CheckID("parentID", session.PrefixSession, string(b.ParentID)); err != nil {
			return httpio.WithPart("body", err)
		}
	}
	q := command.CreateRequest{
		ParentID: b.ParentID, Agent: b.Agent, Location: l, Title: b.Title, Metadata: b.Metadata, Open: true,
	}
	if b.Model != nil {
		q.Model = &session.ModelRef{ID: b.Model.ID, ProviderID: b.Model.ProviderID, Variant: b.Model.Variant}
	}
	if err := opencode.CheckRules(b.Permission); err != nil {
		return httpio.WithPart("body", err)
	}
	if len(b.Permission) > 0 {
		q.Permission = opencode.OurRules(b.Permission)
	}
	s, err := a.engine.Commands.CreateSession(r.Context(), q)
	if err != nil {
		return inBody(located(r, err))
	}
	return write(w, opencode.SessionOf(s))
}

func (a *API) session(w http.ResponseWriter, r *http.Request) error {
	s, err := a.read(r)
	if err != nil {
		return err
	}
	return write(w, opencode.SessionOf(s))
}

// sessionPatch is the body of session.update.
type sessionPatch struct {
	Title      *string         `json:"title"`
	Metadata   jsontext.Value  `json:"metadata"`
	Permission []opencode.Rule `json:"permission"` // behind those that there are
	Time       *struct {
		Archived *float64 `json:"archived"`
	} `json:"time"`
}

func (a *API) update(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[sessionPatch](r)
	if err != nil {
		return err
	}
	s, err := a.read(r)
	if err != nil {
		return err
	}
	c := command.SessionChange{Title: b.Title}
	if b.Metadata.Kind() != 'n' {
		c.Metadata = b.Metadata
	}
	if err := opencode.CheckRules(b.Permission); err != nil {
		return httpio.WithPart("body", err)
	}
	if len(b.Permission) > 0 {
		rules := slices.Concat(s.Permission, opencode.OurRules(b.Permission))
		c.Permission = &rules
	}
	if b.Time != nil && b.Time.Archived != nil {
		archived := *b.Time.Archived != 0
		c.Archived, c.ArchivedAt = &archived, int64(*b.Time.Archived)
	}
	if err := a.engine.Commands.ChangeSession(r.Context(), s.ID, c); err != nil {
		return httpio.WithPart("body", err)
	}
	return a.session(w, r)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Commands.DeleteSession(r.Context(), sessionOf(r)); err != nil {
		return err
	}
	return yes(w)
}

func (a *API) children(w http.ResponseWriter, r *http.Request) error {
	id := sessionOf(r)
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawSession, error) {
		if _, err := mustSession(rd, id); err != nil {
			return nil, err
		}
		return rd.RawSessions(store.SessionQuery{ParentID: &id, Archived: true, Oldest: true})
	})
	if err != nil {
		return err
	}
	return writeSessions(w, rows, opencode.SessionOf)
}

// statuses says what those sessions of the directory are doing that do not rest.
func (a *API) statuses(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	out, err := view(r.Context(), a, func(rd store.Reader) (map[session.ID]opencode.State, error) {
		out := map[session.ID]opencode.State{}
		for _, id := range a.engine.Active() {
			s, ok, err := rd.Session(id)
			if err != nil {
				return nil, err
			}
			if now := a.engine.Status(id); ok && s.Location.Directory == l.Directory && now.Type != engine.StatusIdle {
				out[id] = stateOf(now)
			}
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	return write(w, out)
}

func stateOf(s engine.Status) opencode.State {
	return opencode.StateOf(string(s.Type), s.Attempt, s.Message, s.Next)
}

func (a *API) todos(w http.ResponseWriter, r *http.Request) error {
	s, err := a.read(r)
	if err != nil {
		return err
	}
	return write(w, append([]session.Todo{}, s.Todos...))
}

// diff is what the answers to a prompt changed: nothing that is known without snapshots.
func (a *API) diff(w http.ResponseWriter, r *http.Request) error {
	if id := r.URL.Query().Get("messageID"); id != "" {
		if err := session.CheckID("messageID", session.PrefixMessage, id); err != nil {
			return httpio.WithPart("query", err)
		}
	}
	return write(w, []opencode.FileDiff{})
}

// abort stops a session's work. One that rests or is not there has none, as OpenCode sees it.
func (a *API) abort(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Interrupt(r.Context(), sessionOf(r)); err != nil && httpio.PublicError(err).Code != session.CodeNotFound {
		return err
	}
	return yes(w)
}
