package v1

import (
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/store"
)

func everywhereRoutes() []Route {
	return []Route{{get, "/experimental/session", "experimental.session.list", (*API).everySession}}
}

// everySession lists the sessions of all projects, or of the directory that the query names; what changed last comes
// first. The cursor is the time of the last change of the one behind which to go on.
func (a *API) everySession(w http.ResponseWriter, r *http.Request) error {
	q, err := listed(r, 1)
	if err != nil {
		return err
	}
	cursor, err := httpio.ReadNumber(r, "cursor", httpio.Range{Min: 0, Max: maxNumber})
	if err != nil {
		return err
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	limit := q.Limit
	q.Archived, q.Before, q.Limit = v.Get("archived") == "true", cursor, limit+1 // to know of more
	if v.Get("directory") != "" {
		q.Directory = l.Directory
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawSession, error) { return rd.RawSessions(q) })
	if err != nil {
		return err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		w.Header().Set("X-Next-Cursor", strconv.FormatInt(rows[limit-1].Updated, 10))
		w.Header().Set("Access-Control-Expose-Headers", "X-Next-Cursor")
	}
	return writeSessions(w, rows, opencode.GlobalSessionOf)
}
