package v2

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionCursor is a position in a list of sessions. It contains the filters of the whole query.
type sessionCursor struct {
	store.SessionQuery
	Order  string         `json:"order"`
	Anchor *sessionAnchor `json:"anchor,omitzero"`
}

type sessionAnchor struct {
	ID        session.ID `json:"id"`
	Time      int64      `json:"time"`
	Direction string     `json:"direction"`
}

// sessionListIn is a request for a list of sessions.
type sessionListIn struct {
	Location  operation.Location
	Workspace string `query:"workspace"` // ignored: there are no workspaces
	Limit     int64  `query:"limit" default:"50" min:"1" max:"1000"`
	Order     string `query:"order" enum:"asc,desc"`

	store.SessionQuery

	Cursor string    `query:"cursor"`
	All    allFields `query:"all"`
}

// list lists sessions, page by page. A cursor continues the list that it comes from.
func (h sessionHandlers) list(
	ctx context.Context,
	in sessionListIn,
) (operation.Func[api.Page[session.Session]], error) {
	h.selectRecord(ctx, &in)
	h.selectMoved(ctx, &in)
	c, err := in.findCursor()
	if err != nil {
		return nil, err
	}
	p := sessionPage{all: in.All}
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) (_ []store.RawSession, err error) {
		if in.All && c.Anchor == nil && c.RecordID != "" {
			p.elsewhere, err = countElsewhere(rd, c.RecordID)
		}
		if err != nil {
			return nil, err
		}
		return rd.RawSessions(c.query(int(in.Limit)))
	})
	if err != nil {
		return nil, err
	}
	if c.Anchor != nil && c.Anchor.Direction == previousPage {
		slices.Reverse(rows)
	}
	if len(rows) > 0 {
		p.cursor = api.Cursor{
			Previous: c.encodeAt(rows[0], previousPage), Next: c.encodeAt(rows[len(rows)-1], nextPage),
		}
	}
	p.rows, p.damaged = store.WithoutDamaged(rows)
	if c.Anchor == nil && httpio.CheckComplete(h.Condition()) != nil { // an unknown number of sessions is missing
		p.damaged++
	}
	return p.write, nil
}

// selectRecord makes the request one for a record if its project is the id of one, or what OpenCode calls the project of
// the location: then the list has no sessions of other checkouts of the same repository.
func (h sessionHandlers) selectRecord(ctx context.Context, in *sessionListIn) {
	if in.Cursor != "" || in.ProjectID == "" || in.ProjectID == "global" {
		return
	}
	if isRecordID(in.ProjectID) {
		in.RecordID, in.ProjectID = session.RecordID(in.ProjectID), ""
		return
	}
	at, err := h.Locations.Location(ctx, in.Location.Location)
	if err == nil && at.Project.ID == in.ProjectID && at.RecordID != "" {
		in.RecordID, in.ProjectID = at.RecordID, ""
	}
}

// selectMoved adds to a list of the location's directory the sessions that go on there since their project was moved.
func (h sessionHandlers) selectMoved(ctx context.Context, in *sessionListIn) {
	if in.Cursor != "" || in.Directory == "" || in.Directory != in.Location.Directory {
		return
	}
	if at, err := h.Locations.Location(ctx, in.Location.Location); err == nil {
		in.Moved = store.NewMoved(at.RecordID, at.Earlier)
	}
}

// countElsewhere returns the number of sessions of the record's repository that are not the record's.
func countElsewhere(rd store.ProjectReader, id session.RecordID) (int, error) {
	found, err := rd.Projects(store.ProjectQuery{ID: id})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return rd.CountElsewhere(found[0])
}

// sessionPage is an api.Page of sessions, which are decoded while it is written.
type sessionPage struct {
	rows      []store.RawSession
	damaged   int // rows that are left out
	elsewhere int // sessions of other checkouts
	cursor    api.Cursor
	all       allFields
}

func (p sessionPage) write(w http.ResponseWriter, _ *http.Request) error {
	cursor, err := httpio.Encode(&p.cursor)
	if err != nil {
		return err
	}
	l := httpio.List{Prefix: `{"data":[`, Suffix: `],"cursor":` + string(cursor)}
	if p.damaged > 0 {
		l.Suffix += fmt.Sprintf(`,"damaged":%d`, p.damaged)
	}
	if p.elsewhere > 0 {
		l.Suffix += fmt.Sprintf(`,"elsewhere":%d`, p.elsewhere)
	}
	l.Suffix += "}"
	for i := range p.rows {
		l.SizeHint += len(p.rows[i].Data) * 5 / 4
	}
	return l.Write(w, httpio.EncodeRows(p.rows, func(row store.RawSession) (session.Session, error) {
		s, err := row.Session()
		if err != nil {
			return session.Session{}, err
		}
		return publicSession(s, p.all), nil
	}))
}

// encodeAt returns the cursor of the page that begins or ends at a session.
func (c sessionCursor) encodeAt(s store.RawSession, direction string) string {
	c.Anchor = &sessionAnchor{ID: s.ID, Time: s.Created, Direction: direction}
	return encodeCursor(c)
}

func (c sessionCursor) query(limit int) store.SessionQuery {
	q := c.SessionQuery
	q.Oldest, q.Limit = c.Order == orderAsc, limit
	if c.Anchor != nil {
		q.After = &store.SessionAnchor{Created: c.Anchor.Time, ID: c.Anchor.ID}
		q.Oldest = q.Oldest != (c.Anchor.Direction == previousPage)
	}
	return q
}

// findCursor returns the cursor of the request, or that of the first page of its list.
func (in sessionListIn) findCursor() (sessionCursor, error) {
	if in.Cursor != "" {
		c, err := decodeCursor[sessionCursor](in.Cursor)
		switch {
		case err != nil:
		case in.Order != "":
			err = errCursorAndOrder
		case c.Anchor == nil || !isDirection(c.Anchor.Direction) || !isOrder(c.Order):
			err = invalidCursor("the cursor is not from a list of sessions")
		}
		return c, err
	}
	if in.Within != "" && in.ProjectID == "" && in.RecordID == "" {
		return sessionCursor{}, session.Errorf(session.CodeInvalid, "within needs project, the project of the repository").
			At("within")
	}
	tags, err := session.SplitTags("tag", in.Tag)
	if err != nil {
		return sessionCursor{}, err
	}
	in.Tag = strings.Join(tags, ",")
	c := sessionCursor{SessionQuery: in.SessionQuery, Order: orderOrDefault(in.Order)}
	if filepath.IsAbs(c.Directory) {
		c.Directory = filepath.ToSlash(filepath.Clean(c.Directory))
	}
	return c, nil
}
