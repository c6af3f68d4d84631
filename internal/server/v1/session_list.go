package v1

import (
	"context"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// projectFilter is which sessions of a project a list has: with "project" those of all its directories. Other values
// are ignored.
type projectFilter string

// DecodeRequest implements operation.Decoder.
func (s *projectFilter) DecodeRequest(r *http.Request) error {
	*s = projectFilter(r.URL.Query().Get("scope"))
	return nil
}

// directoryQuery is the directory that the query names, before it is resolved.
type directoryQuery string

// DecodeRequest implements operation.Decoder.
func (d *directoryQuery) DecodeRequest(r *http.Request) error {
	*d = directoryQuery(r.URL.Query().Get("directory"))
	return nil
}

// listSessions lists the sessions of the project: those with the path of the query or a deeper one if the query names a
// path. If it names a directory but neither a path nor scope=project, the list has the sessions of that directory. The
// session that changed last comes first.
func (h sessionHandlers) listSessions(ctx context.Context, in struct {
	Location  operation.Location
	Directory directoryQuery
	Scope     projectFilter `query:"scope" enum:"project"`
	Path      *string       `query:"path"`
	Roots     string        `query:"roots"`
	Start     int64         `query:"start"`
	Search    string        `query:"search"`
	Limit     int64         `query:"limit" default:"100"`
},
) (operation.Func[[]opencode.Session], error) {
	// Validate the query before the location is resolved.
	q, err := newSessionQuery(in.Roots, store.SessionQuery{Search: in.Search, Since: in.Start, Limit: int(in.Limit)})
	if err != nil {
		return nil, err
	}
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	if q.Limit == 0 { // which means all to the store
		return sessionList(nil, opencode.SessionOf), nil
	}
	// The list has archived sessions, too. A path narrows it, else the directory unless scope is project.
	q.Archived = true
	if l.RecordID != "" && l.ProjectID != project.Global {
		q.RecordID = l.RecordID // sessions from before a remote or the first commit have another project
	} else {
		q.ProjectID = l.ProjectID
	}
	if in.Path != nil {
		q.Subpath = *in.Path
	} else if in.Directory != "" && in.Scope != "project" {
		q.Directory, q.Moved = l.Directory, store.NewMoved(l.RecordID, l.Earlier)
	}
	rows, err := h.readSessions(ctx, q)
	return sessionList(rows, opencode.SessionOf), err
}

// listGlobal lists the sessions of all projects, or of the directory that the query names. The session that changed
// last comes first. The cursor is the time of the last change of the session after which the page begins.
func (h sessionHandlers) listGlobal(ctx context.Context, in struct {
	Location  operation.Location
	Directory directoryQuery
	Roots     string `query:"roots"`
	Start     int64  `query:"start"`
	Cursor    int64  `query:"cursor"`
	Search    string `query:"search"`
	Limit     int64  `query:"limit" default:"100" min:"1"`
	Archived  string `query:"archived"`
},
) (operation.Func[[]opencode.GlobalSession], error) {
	limit := int(in.Limit)
	q, err := newSessionQuery(in.Roots, store.SessionQuery{
		Search: in.Search, Since: in.Start, Before: in.Cursor, Archived: in.Archived == "true",
		Limit: limit + 1, // one more tells whether there is a next page
	})
	if err != nil {
		return nil, err
	}
	// A location always has a directory, so only a directory that the query names narrows the list.
	if in.Directory != "" {
		q.Directory = in.Location.Directory
	}
	rows, err := h.readSessions(ctx, q)
	if err != nil {
		return nil, err
	}
	// The additional row is not part of the page. The cursor is the time of the page's last session.
	cursor := ""
	if len(rows) > limit {
		rows = rows[:limit]
		cursor = strconv.FormatInt(rows[limit-1].Updated, 10)
	}
	list := sessionList(rows, opencode.GlobalSessionOf)
	return func(w http.ResponseWriter, r *http.Request) error {
		if cursor != "" {
			w.Header().Set("X-Next-Cursor", cursor)
			w.Header().Set("Access-Control-Expose-Headers", "X-Next-Cursor")
		}
		return list(w, r)
	}, nil
}

// newSessionQuery completes the query of a list of sessions. Roots are sessions without a parent.
func newSessionQuery(roots string, q store.SessionQuery) (store.SessionQuery, error) {
	q.Recent = true
	if roots == "" {
		return q, nil
	}
	if roots == "true" {
		q.ParentID = new(session.ID)
	}
	return q, httpio.CheckChoice("roots", roots, "true", "false")
}

// listChildren lists the sessions whose parent is the session, the oldest first.
func (h sessionHandlers) listChildren(ctx context.Context, in sessionIn) (operation.Func[[]opencode.Session], error) {
	if err := httpio.CheckComplete(h.Condition()); err != nil {
		return nil, err
	}
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.RawSession, error) {
		if _, err := store.FindSession(rd, in.SessionID); err != nil {
			return nil, err
		}
		return rd.RawSessions(store.SessionQuery{ParentID: &in.SessionID, Archived: true, Oldest: true})
	})
	return sessionList(rows, opencode.SessionOf), err
}

func (h sessionHandlers) readSessions(ctx context.Context, q store.SessionQuery) ([]store.RawSession, error) {
	if err := httpio.CheckComplete(h.Condition()); err != nil {
		return nil, err
	}
	return store.Query(ctx, h.Store, func(rd store.Reader) ([]store.RawSession, error) { return rd.RawSessions(q) })
}

// sessionList answers with the rows, each converted by convert.
func sessionList[T any](rows []store.RawSession, convert func(*session.Session) T) operation.Func[[]T] {
	rows, damaged := store.WithoutDamaged(rows)
	return func(w http.ResponseWriter, _ *http.Request) error {
		if damaged > 0 {
			w.Header().Set("Cairn-Damaged", strconv.Itoa(damaged))
		}
		list := httpio.List{Prefix: "[", Suffix: "]"}
		for i := range rows {
			list.SizeHint += len(rows[i].Data) * 5 / 4
		}
		return list.Write(w, httpio.EncodeRows(rows, func(row store.RawSession) (v T, err error) {
			s, err := row.Session()
			if err == nil {
				v = convert(s)
			}
			return v, err
		}))
	}
}
