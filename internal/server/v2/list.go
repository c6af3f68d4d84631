package v2

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

const (
	defaultPage = 50
	maxSessions = 1000
	maxMessages = 200
	maxHistory  = 100
)

// The directions of a cursor.
const (
	next     = "next"
	previous = "previous"
)

// sessionCursor is a list of sessions and a place in it. It holds the whole query but its limit.
type sessionCursor struct {
	Directory string            `json:"directory,omitzero"`
	Project   session.ProjectID `json:"project,omitzero"`
	Subpath   string            `json:"subpath,omitzero"`
	Search    string            `json:"search,omitzero"`
	Parent    *session.ID       `json:"parent,omitzero"`
	Archived  bool              `json:"archived,omitzero"`
	Order     string            `json:"order"`
	Anchor    *sessionAnchor    `json:"anchor,omitzero"`
}

type sessionAnchor struct {
	ID        session.ID `json:"id"`
	Time      int64      `json:"time"`
	Direction string     `json:"direction"`
}

// encodeCursor makes a cursor opaque: base64url of JSON.
func encodeCursor(v any) string {
	b, err := httpio.Encode(v)
	if err != nil { // cannot be: strings and numbers, read from a query
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor reads what encodeCursor made. Only its form is checked.
func decodeCursor[T any](s string) (T, error) {
	var c T
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || len(s) > 8192 {
		return c, badCursor("the cursor is not one of ours; use cursor.next or cursor.previous of an answer as it is")
	}
	return c, nil
}

func badCursor(message string) error {
	e := session.Errorf(session.CodeInvalid, "%s", message).At("cursor")
	e.Kind = api.KindCursor
	return e
}

func (a *API) sessions(w http.ResponseWriter, r *http.Request) error {
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: defaultPage, Min: 1, Max: maxSessions})
	if err != nil {
		return err
	}
	c, err := sessionQuery(r)
	if err != nil {
		return err
	}
	q := c.store(int(limit))
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawSession, error) { return rd.RawSessions(q) })
	if err != nil {
		return err
	}
	if c.Anchor != nil && c.Anchor.Direction == previous {
		slices.Reverse(rows)
	}
	p := sessionPage{rows: rows, full: full(r)}
	if len(rows) > 0 {
		p.cursor = api.Cursor{Previous: c.at(rows[0], previous), Next: c.at(rows[len(rows)-1], next)}
	}
	return p.write(w)
}

// sessionPage is an api.Page of sessions that are decoded when it is written.
type sessionPage struct {
	rows   []store.RawSession
	cursor api.Cursor
	full   bool
}

func (p sessionPage) write(w http.ResponseWriter) error {
	cursor, err := httpio.Encode(&p.cursor)
	if err != nil {
		return err
	}
	l := httpio.List{Begin: `{"data":[`, End: `],"cursor":` + string(cursor) + `}`}
	for i := range p.rows {
		l.Room += len(p.rows[i].Data) * 5 / 4
	}
	return l.Write(w, httpio.EncodeRows(p.rows, func(row store.RawSession) (*session.Session, error) {
		s, err := row.Session()
		if err == nil {
			s = shown(s, p.full)
		}
		return s, err
	}))
}

func (c sessionCursor) at(s store.RawSession, direction string) string {
	c.Anchor = &sessionAnchor{ID: s.ID, Time: s.Created, Direction: direction}
	return encodeCursor(c)
}

func (c sessionCursor) store(limit int) store.SessionQuery {
	q := store.SessionQuery{
		Directory: c.Directory, ProjectID: c.Project, Subpath: c.Subpath, ParentID: c.Parent, Search: c.Search,
		Archived: c.Archived, Oldest: c.Order == "asc", Limit: limit,
	}
	if c.Anchor != nil {
		q.After = &store.SessionAnchor{Created: c.Anchor.Time, ID: c.Anchor.ID}
		q.Oldest = q.Oldest != (c.Anchor.Direction == previous)
	}
	return q
}

// sessionQuery reads the query, or the cursor that holds it.
func sessionQuery(r *http.Request) (sessionCursor, error) {
	v := r.URL.Query()
	order, err := httpio.ReadChoice(r, "order", "asc", "desc")
	if err != nil {
		return sessionCursor{}, err
	}
	if s := v.Get("cursor"); s != "" {
		c, err := decodeCursor[sessionCursor](s)
		switch {
		case err != nil:
		case order != "":
			err = badCursor("cursor and order cannot be given together; the cursor holds the order")
		case c.Anchor == nil || (c.Anchor.Direction != next && c.Anchor.Direction != previous) || (c.Order != "asc" && c.Order != "desc"):
			err = badCursor("the cursor is not one of a list of sessions")
		}
		return c, err
	}
	if order == "" {
		order = "desc"
	}
	c := sessionCursor{
		Directory: v.Get("directory"), Project: session.ProjectID(v.Get("project")), Subpath: v.Get("subpath"), Search: v.Get("search"),
		Order: order,
	}
	if filepath.IsAbs(c.Directory) {
		c.Directory = filepath.ToSlash(filepath.Clean(c.Directory))
	}
	if v.Has("parent") {
		c.Parent = new(session.ID(v.Get("parent")))
	}
	archived, err := httpio.ReadChoice(r, "archived", "true", "false")
	c.Archived = archived == "true"
	return c, err
}
