package v2

import (
	"context"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// publicKinds are the kinds of events that OpenCode's clients know.
func publicKinds() []session.Kind {
	var ks []session.Kind
	for _, k := range session.Kinds() {
		if k.IsPublic() {
			ks = append(ks, k)
		}
	}
	return ks
}

// listHistory lists a page of the session's log as it is stored. The limit counts events of the chosen kinds only.
func (h eventHandlers) listHistory(ctx context.Context, in struct {
	sessionIn
	All   allFields
	Limit int64 `query:"limit" default:"50" min:"1" max:"100"`
	After int64 `query:"after" default:"-1" min:"-1"`
},
) (operation.Func[wireHistory], error) {
	var kinds []session.Kind
	if !in.All {
		kinds = publicKinds()
	}
	limit := int(in.Limit)
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.EventRow, error) {
		newest, err := readHead(rd, in.SessionID)
		if err == nil {
			err = checkCursor(in.After, newest)
		}
		if err != nil {
			return nil, err
		}
		return rd.Events(in.SessionID, in.After, limit+1, kinds...)
	})
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, joinEvents(rows, limit))
	}, err
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
