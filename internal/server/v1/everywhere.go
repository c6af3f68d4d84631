package v1

import (
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func everywhereRoutes() []Route {
	return []Route{{get, "/experimental/session", "experimental.session.list", (*API).everySession}}
}

// everySession lists the sessions of all projects, or of the directory that the query names; what changed last comes
// first. The cursor is the time of the last change of the one behind which to go on.
func (a *API) everySession(w http.ResponseWriter, r *http.Request) error {
	limit, err := exchange.Number(r, "limit", exchange.Span{Default: defaultSessions, Least: 1, Most: maxNumber})
	if err != nil {
		return err
	}
	start, err := exchange.Number(r, "start", exchange.Span{Least: 0, Most: maxNumber})
	if err != nil {
		return err
	}
	cursor, err := exchange.Number(r, "cursor", exchange.Span{Least: 0, Most: maxNumber})
	if err != nil {
		return err
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	q := store.SessionQuery{
		Search: v.Get("search"), Archived: v.Get("archived") == "true", Recent: true, Since: start, Before: cursor,
		Limit: int(limit) + 1, // to know of more
	}
	if v.Get("directory") != "" {
		q.Directory = l.Directory
	}
	if v.Get("roots") == "true" {
		q.ParentID = new(session.ID)
	}
	ss, err := view(r.Context(), a, func(rd store.Reader) ([]*session.Session, error) { return rd.Sessions(q) })
	if err != nil {
		return err
	}
	if len(ss) > int(limit) {
		ss = ss[:limit]
		w.Header().Set("X-Next-Cursor", strconv.FormatInt(ss[limit-1].Time.Updated, 10))
		w.Header().Set("Access-Control-Expose-Headers", "X-Next-Cursor")
	}
	out := make([]opencode.GlobalSession, len(ss))
	for i, s := range ss {
		out[i] = opencode.GlobalSessionOf(s)
	}
	return write(w, out)
}
