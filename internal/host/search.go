package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/sessionsearch"
)

// sessionSearch is the search index of the owner of a store. It follows the sessions from searchDelay on, from the first
// search, or if a session was deleted: a short command takes no time for it.
type sessionSearch struct {
	index    *searchindex.Index
	follower *follower.Follower
	begin    func() // makes the index follow
	begun    <-chan struct{}
	waited   atomic.Bool // a search has waited as long as one may
}

const (
	// searchDelay is the age at which a process begins to follow.
	searchDelay = 5 * time.Second
	// searchWait is how long a search waits for what the index does not have yet. After one that waited in vain, others wait
	// for quickWait only: the index is being rebuilt.
	searchWait = 5 * time.Second
	quickWait  = 100 * time.Millisecond
	// searchPoll is the time between two looks at how far it is.
	searchPoll = 2 * time.Millisecond
)

// openSearch prepares the index of the owner's store. If it is turned off, an earlier one is removed.
func (w *owner) openSearch(maxBytes int64) {
	if w.lease == nil || w.store.DegradedError() != nil {
		return
	}
	if maxBytes == 0 {
		if err := searchindex.Remove(w.dirs.Data); err != nil {
			w.logger.Warn("the search index is turned off, and could not be removed", "error", err)
		}
		return
	}
	begun := make(chan struct{})
	s := &sessionSearch{begin: sync.OnceFunc(func() { close(begun) }), begun: begun}
	s.index = &searchindex.Index{
		Store: w.store, StoreID: w.store.ID(), Dir: w.dirs.Data, MaxBytes: maxBytes, Logger: w.logger,
	}
	s.follower = &follower.Follower{
		Name: "search", Store: w.store, Log: w.log, Consumer: s.index, File: searchindex.CursorFile(w.dirs.Data), Logger: w.logger,
	}
	w.search, w.locations.search = s, s
}

// startSearch starts to keep the index up to date until ctx ends. release waits for it.
func (w *owner) startSearch(ctx context.Context) {
	s := w.search
	if s == nil {
		return
	}
	w.sweeps.Go(func() {
		select {
		case <-s.begun:
		case <-time.After(searchDelay):
			s.begin()
		case <-ctx.Done():
			select {
			case <-s.begun: // a session was deleted: follow once
			default:
				return
			}
		}
		if exists, err := s.index.Open(ctx); err == nil && !exists {
			_ = os.Remove(s.follower.File) // it would say that the index has everything
		}
		s.follower.Run(ctx)
		if err := s.index.Close(); err != nil {
			w.logger.Warn("the search index could not be closed", "error", err)
		}
	})
}

// forget makes an index that exists follow the deletion of a session, also if the process ends now.
func (s *sessionSearch) forget() {
	if s == nil {
		return
	}
	if _, err := os.Lstat(searchindex.File(s.index.Dir)); err == nil {
		s.begin()
	}
}

// Search implements v2.Searcher.
func (s *sessionSearch) Search(ctx context.Context, q searchindex.Query) (page *searchindex.Page, isComplete bool, err error) {
	if s == nil {
		return nil, false, session.Errorf(session.CodeConflict, "nothing can be searched: the index is turned off "+
			"(storage.search in your configuration), or nothing can be written (cairn doctor)")
	}
	s.begin()
	if isComplete, err = s.await(ctx); err != nil {
		return nil, false, err
	}
	page, err = s.index.Search(ctx, q)
	if errors.Is(err, follower.ErrLost) {
		s.follower.Restart()
	}
	if errors.Is(err, follower.ErrLost) || errors.Is(err, searchindex.ErrNotBuilt) {
		page, isComplete, err = &searchindex.Page{}, false, nil
	}
	if why := s.follower.Failure(); why != nil && page != nil && !isComplete {
		page.Problem = why.Error()
	}
	return page, isComplete, err
}

// await waits until the index has what is stored now, and reports whether it has.
func (s *sessionSearch) await(ctx context.Context) (bool, error) {
	head, err := store.Query(ctx, s.index.Store, func(r store.Reader) (int64, error) { return r.Head("") })
	if err != nil {
		return false, err
	}
	limit := searchWait
	if s.waited.Load() {
		limit = quickWait
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for s.follower.Position() < head {
		s.follower.Hurry()
		select {
		case <-wait.Done():
			s.waited.Store(true)
			return false, context.Cause(ctx)
		case <-time.After(searchPoll):
		}
		if s.follower.Failure() != nil {
			return false, nil
		}
	}
	s.waited.Store(false)
	return true, nil
}

// searchProject is a sessionsearch.Search. It finds earlier sessions: not the one that searches, nor another one of its
// tree, whose words are those of the work under way.
func (s *sessionSearch) searchProject(ctx context.Context, id session.ID, q sessionsearch.Query) (out []sessionsearch.Hit, err error) {
	ids, err := store.Query(ctx, s.index.Store, func(r store.Reader) ([]session.ID, error) { return listEarlier(r, id) })
	if err != nil || len(ids) == 0 { // no id would mean all sessions
		return nil, err
	}
	page, _, err := s.Search(ctx, searchindex.Query{
		Text: q.Query, Sessions: ids, Kind: searchindex.Kind(q.Kind), Now: time.Now().UnixMilli(), Limit: q.Limit,
	})
	if e, ok := errors.AsType[*session.Error](err); ok {
		return nil, tool.Failf("%s", e.Message)
	}
	if err != nil {
		return nil, err
	}
	for _, h := range page.Hits {
		out = append(out, sessionsearch.Hit{
			SessionID: h.Session.ID, Title: h.Session.Title, Kind: string(h.Kind), Tool: h.Tool, Time: time.UnixMilli(h.Time),
			Text: h.Snippet.Text,
		})
	}
	return out, nil
}

// listEarlier returns the sessions of the project of a session without those of its tree.
func listEarlier(r store.Reader, id session.ID) ([]session.ID, error) {
	ids, err := listProject(r, id)
	if err != nil {
		return nil, err
	}
	root, err := store.FindRoot(r, id)
	if err != nil {
		return nil, err
	}
	below, err := r.RawSessions(store.SessionQuery{Ancestor: root, Archived: true})
	tree := map[session.ID]bool{root: true, id: true}
	for _, row := range below {
		tree[row.ID] = true
	}
	return slices.DeleteFunc(ids, func(id session.ID) bool { return tree[id] }), err
}

// listProject returns the sessions of the project of a session: those of its record, else those of its directory.
func listProject(r store.Reader, id session.ID) (ids []session.ID, err error) {
	s, err := store.FindSession(r, id)
	if err != nil {
		return nil, err
	}
	q := store.SessionQuery{Directory: s.Location.Directory, Archived: true}
	if s.RecordID != "" {
		q = store.SessionQuery{RecordID: s.RecordID, Archived: true}
	}
	rows, err := r.RawSessions(q)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids, err
}
