package v2

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
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

// sum sums up the costs of all sessions, including deleted ones.
func (h spendHandlers) sum(ctx context.Context, in struct {
	Since int64 `query:"since"`
},
) (api.Data[api.Stats], error) {
	lines, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.Spend, error) {
		return rd.Spent("", in.Since)
	})
	stats := sumSpend(lines)
	stats.Since = in.Since
	return newData(stats), err
}

// sumSpend sums up costs, which are ordered by time.
func sumSpend(lines []store.Spend) api.Stats {
	s := api.Stats{Models: []api.ModelStats{}, Days: []api.DayStats{}}
	sessions := map[session.ID]bool{}
	models := map[session.ModelRef]int{}
	for _, l := range lines {
		sessions[l.SessionID] = true
		s.Turns++
		s.Cost += l.Cost
		s.Tokens = s.Tokens.Add(l.Tokens)

		// The model's line.
		ref := session.ModelRef{ProviderID: l.Model.ProviderID, ID: l.Model.ID}
		i, ok := models[ref]
		if !ok {
			i = len(s.Models)
			models[ref] = i
			s.Models = append(s.Models, api.ModelStats{Model: ref})
		}
		m := &s.Models[i]
		m.Turns, m.Cost, m.Tokens = m.Turns+1, m.Cost+l.Cost, m.Tokens.Add(l.Tokens)

		// The day's line: the rows are in order of time.
		day := time.UnixMilli(l.Time).UTC().Format(time.DateOnly)
		if n := len(s.Days); n == 0 || s.Days[n-1].Day != day {
			s.Days = append(s.Days, api.DayStats{Day: day})
		}
		d := &s.Days[len(s.Days)-1]
		d.Turns, d.Cost, d.Tokens = d.Turns+1, d.Cost+l.Cost, d.Tokens.Add(l.Tokens)
	}
	// Shares and the order, which need the sums.
	s.Sessions = len(sessions)
	s.CacheHit, _ = s.Tokens.CacheShare()
	for i := range s.Models {
		s.Models[i].CacheHit, _ = s.Models[i].Tokens.CacheShare()
	}
	slices.SortStableFunc(s.Models, func(a, b api.ModelStats) int { return cmp.Compare(b.Cost, a.Cost) })
	return s
}
