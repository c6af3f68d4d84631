package v2

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// spent lists the ledger lines of one session.
func (a *API) spent(w http.ResponseWriter, r *http.Request) error {
	lines, err := view(r.Context(), a, func(rd store.Reader) ([]store.Spend, error) {
		if _, err := mustSession(rd, sessionOf(r)); err != nil {
			return nil, err
		}
		return rd.Spent(sessionOf(r), 0)
	})
	if err != nil {
		return err
	}
	out := make([]api.Spend, len(lines))
	for i, l := range lines {
		out[i] = api.Spend(l)
	}
	return data(w, out)
}

// stats sums up the ledger of all sessions, those that are deleted too.
func (a *API) stats(w http.ResponseWriter, r *http.Request) error {
	since, err := httpio.ReadNumber(r, "since", httpio.Range{Default: 0, Min: 0, Max: maxSeq})
	if err != nil {
		return err
	}
	lines, err := view(r.Context(), a, func(rd store.Reader) ([]store.Spend, error) { return rd.Spent("", since) })
	if err != nil {
		return err
	}
	s := sum(lines)
	s.Since = since
	return data(w, s)
}

// sum adds up ledger lines, which come in order of time.
func sum(lines []store.Spend) api.Stats {
	s := api.Stats{Models: []api.ModelStats{}, Days: []api.DayStats{}}
	sessions := map[session.ID]bool{}
	models := map[session.ModelRef]int{}
	for _, l := range lines {
		sessions[l.SessionID] = true
		s.Turns++
		s.Cost += l.Cost
		s.Tokens = s.Tokens.Add(l.Tokens)

		ref := session.ModelRef{ProviderID: l.Model.ProviderID, ID: l.Model.ID}
		i, ok := models[ref]
		if !ok {
			i = len(s.Models)
			models[ref] = i
			s.Models = append(s.Models, api.ModelStats{Model: ref})
		}
		m := &s.Models[i]
		m.Turns, m.Cost, m.Tokens = m.Turns+1, m.Cost+l.Cost, m.Tokens.Add(l.Tokens)

		day := time.UnixMilli(l.Time).UTC().Format(time.DateOnly)
		if n := len(s.Days); n == 0 || s.Days[n-1].Day != day {
			s.Days = append(s.Days, api.DayStats{Day: day})
		}
		d := &s.Days[len(s.Days)-1]
		d.Turns, d.Cost, d.Tokens = d.Turns+1, d.Cost+l.Cost, d.Tokens.Add(l.Tokens)
	}
	s.Sessions = len(sessions)
	s.CacheHit, _ = s.Tokens.CacheShare()
	for i := range s.Models {
		s.Models[i].CacheHit, _ = s.Models[i].Tokens.CacheShare()
	}
	slices.SortStableFunc(s.Models, func(a, b api.ModelStats) int { return cmp.Compare(b.Cost, a.Cost) })
	return s
}
