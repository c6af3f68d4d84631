package v2

import (
	"context"
	"slices"
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
	// Search in the sessions that the query selects.
	var empty api.Data[api.SearchResult]
	sessions, err := h.findSessions(ctx, in)
	if err != nil {
		return empty, err
	}
	page, isComplete, err := h.Searcher.Search(ctx, searchindex.Query{
		Text: in.Text, Sessions: sessions, Kind: searchindex.Kind(in.Kind), Role: in.Role, Tool: in.Tool, Agent: in.Agent,
		Failed: in.Failed, Since: in.Since, Now: time.Now().UnixMilli(), Limit: int(in.Limit), Offset: int(in.Offset),
	})
	if err != nil {
		return empty, err
	}
	// Return the hits with what clients show of their sessions.
	out := api.SearchResult{Hits: []api.SearchHit{}, More: page.More, Complete: isComplete, Problem: page.Problem, Trimmed: page.Trimmed}
	for _, hit := range page.Hits {
		out.Hits = append(out.Hits, api.SearchHit{
			SessionID: hit.Session.ID, Title: hit.Session.Title, Directory: hit.Session.Location.Directory,
			MessageID: hit.MessageID, PartID: hit.PartID, Kind: string(hit.Kind), Tool: hit.Tool, Agent: hit.Agent,
			Failed: hit.Failed, Time: hit.Time, Snippet: api.Snippet(hit.Snippet),
		})
	}
	return newData(out), nil
}

// findSessions returns the sessions that a query selects, nil for all: one session, those of a project, or the session if it
// is one of the project. An unknown session or project is an error.
func (h searchHandlers) findSessions(ctx context.Context, in api.SearchQuery) (ids []session.ID, err error) {
	if in.SessionID != "" {
		if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
			return nil, err
		}
		ids = []session.ID{in.SessionID}
	}
	if in.Project == "" {
		return ids, nil
	}
	ofProject, err := listProjectSessions(ctx, h.Store, in.Project)
	if err != nil || in.SessionID == "" {
		return ofProject, err
	}
	return slices.DeleteFunc(ids, func(id session.ID) bool { return !slices.Contains(ofProject, id) }), nil
}
