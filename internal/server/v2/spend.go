package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// spendHandlers reports what the turns of sessions cost.
type spendHandlers struct{ *dependencies }

// list lists what the turns of one session cost.
func (h spendHandlers) list(ctx context.Context, in sessionIn) (api.Data[[]api.Spend], error) {
	lines, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.Spend, error) {
		if _, err := store.FindSession(rd, in.SessionID); err != nil {
			return nil, err
		}
		return rd.Spent(in.SessionID, 0)
	})
	out := make([]api.Spend, len(lines))
	for i, l := range lines {
		out[i] = api.Spend(l)
	}
	return newData(out), err
}
