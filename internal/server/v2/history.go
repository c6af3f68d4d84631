package v2

import (
	"context"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// listHistory lists a page of the session's log as it is stored. The limit counts events of the chosen kinds only.
func (h eventHandlers) listHistory(ctx context.Context, in struct {
	sessionIn
	All   allFields
	Limit int64 `query:"limit" default:"50" min:"1" max:"100"`
	After int64 `query:"after" default:"-1" min:"-1"`
},
) (operation.Func[wireHistory], error) {
	limit := int(in.Limit)
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.EventRow, error) {
		newest, err := readHead(rd, in.SessionID)
		if err == nil {
			err = checkCursor(in.After, newest)
		}
		if err != nil {
			return nil, err
		}
		return h.readHistory(rd, in.SessionID, in.After, historyPage{bool(in.All), limit + 1})
	})
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, joinEvents(rows, limit))
	}, err
}

// historyPage says what a page of the log has at most.
type historyPage struct {
	private bool // also events that OpenCode's clients do not know
	limit   int
}

// readHistory returns the events after a seq, up to the limit. It reads those of all kinds, which shows whether one is
// missing: that is a *store.Damage, also at the end of the log.
func (h eventHandlers) readHistory(
	r store.Reader, id session.ID, after int64, p historyPage,
) (found []store.EventRow, err error) {
	for {
		n := p.limit - len(found)
		rows, err := r.Events(id, after, n)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if after = row.Seq; p.private || row.Kind.IsPublic() {
				found = append(found, row)
			}
		}
		if len(rows) < n {
			return found, h.Log.VerifyTail(r, id)
		}
		if len(found) == p.limit {
			return found, nil
		}
	}
}

// joinEvents joins the first limit stored events into a response.
func joinEvents(rows []store.EventRow, limit int) []byte {
	hasMore := len(rows) > limit
	b := []byte(`{"data":[`)
	for i, row := range rows[:min(limit, len(rows))] {
		if i > 0 {
			b = append(b, ',')
		}
		f := eventFrame{
			id: string(row.ID), kind: row.Kind, durable: &eventRef{row.SessionID, row.Seq, row.Version}, data: row.Data,
		}
		b = f.append(b)
	}
	b = strconv.AppendBool(append(b, `],"hasMore":`...), hasMore)
	return append(b, '}')
}
