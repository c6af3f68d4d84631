package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionSearch is the search index of the owner of a store. A short command does not pay for it: the index follows the sessions
// from searchDelay on, from the first search, or if a session was deleted.
type sessionSearch struct {
	index    *searchindex.Index
	follower *follower.Follower
	begin    func() // makes the index follow
	begun    <-chan struct{}
}

const (
	// searchDelay is the age at which a process begins to follow.
	searchDelay = 5 * time.Second
	// searchWait is how long a search waits for what the index does not have yet.
	searchWait = 5 * time.Second
	// searchPoll is the time between two looks at how far it is.
	searchPoll = 10 * time.Millisecond
)

// newSearch returns the index of the owner's store; nil if there is none: it is turned off, or nothing can be written.
func (w *owner) newSearch(maxBytes int64) *sessionSearch {
	if maxBytes == 0 || w.lease == nil || w.store.DegradedError() != nil {
		return nil
	}
	begun := make(chan struct{})
	s := &sessionSearch{begin: sync.OnceFunc(func() { close(begun) }), begun: begun}
	s.index = &searchindex.Index{
		Store: w.store, StoreID: w.store.ID(), Dir: w.dirs.Data, MaxBytes: maxBytes, Logger: w.logger,
	}
	s.follower = &follower.Follower{
		Name: "search", Store: w.store, Log: w.log, Consumer: s.index, File: searchindex.CursorFile(w.dirs.Data), Logger: w.logger,
	}
	return s
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
		if isBuilt, err := s.index.Open(ctx); err == nil && !isBuilt {
			_ = os.Remove(s.follower.File) // it would say that the index has everything
		}
		s.follower.Run(ctx)
		if err := s.index.Close(); err != nil {
			w.logger.Warn("the search index could not be closed", "error", err)
		}
	})
}

// follow makes the index follow the sessions from now on.
func (s *sessionSearch) follow() {
	if s != nil {
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
	// Wait until the index has what is stored now.
	head, err := store.Query(ctx, s.index.Store, func(r store.Reader) (int64, error) { return r.Head("") })
	if err != nil {
		return nil, false, err
	}
	wait, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	for !isComplete && wait.Err() == nil {
		if isComplete = s.follower.Position() >= head; !isComplete {
			select {
			case <-wait.Done():
			case <-time.After(searchPoll):
			}
		}
	}
	page, err = s.index.Search(ctx, q)
	if errors.Is(err, searchindex.ErrNotBuilt) {
		return &searchindex.Page{}, false, nil
	}
	return page, isComplete, err
}
