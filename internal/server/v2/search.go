package v2

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Searcher finds texts of sessions.
type Searcher interface {
	// Search returns the hits, and whether the index has everything that was stored before the call.
	Search(ctx context.Context, q searchindex.Query) (page *searchindex.Page, isComplete bool, err error)
}

// searchHandlers finds texts in sessions.
type searchHandlers struct{ *dependencies }

// search returns the texts that fit a query.
func (h searchHandlers) search(ctx context.Context, in api.SearchQuery) (api.Data[api.SearchResult], error) {
	none := api.Data[api.SearchResult]{}
	sessions, err := h.findSessions(ctx, in)
	if err != nil {
		return none, err
	}
	page, isComplete, err := h.Searcher.Search(ctx, searchindex.Query{
		Text: in.Text, Sessions: sessions, Kind: searchindex.Kind(in.Kind), Role: in.Role, Tool: in.Tool, Agent: in.Agent,
		Failed: in.Failed, Since: in.Since, Now: time.Now().UnixMilli(), Limit: int(in.Limit), Offset: int(in.Offset),
	})
	if err != nil {
		return none, err
	}
	out := api.SearchResult{Hits: []api.SearchHit{}, More: page.More, Complete: isComplete}
	for _, hit := range page.Hits {
		out.Hits = append(out.Hits, api.SearchHit{
			SessionID: hit.Session.ID, Title: hit.Session.Title, Directory: hit.Session.Location.Directory,
			MessageID: hit.MessageID, PartID: hit.PartID, Kind: string(hit.Kind), Tool: hit.Tool, Agent: hit.Agent,
			Failed: hit.Failed, Time: hit.Time, Snippet: api.Snippet(hit.Snippet),
		})
	}
	return newData(out), nil
}

// findSessions returns the sessions that a query is about, nil for all.
func (h searchHandlers) findSessions(ctx context.Context, in api.SearchQuery) ([]session.ID, error) {
	if in.SessionID != "" {
		if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
			return nil, err
		}
		return []session.ID{in.SessionID}, nil
	}
	if in.Project == "" {
		return nil, nil
	}
	return listProjectSessions(ctx, h.Store, in.Project)
}
