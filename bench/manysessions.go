//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// measureManySessions lists the first page of 100,000 sessions of one directory.
func (b *bench) measureManySessions(ctx context.Context) error {
	h, n := b.newHome("manysessions"), b.scaleCount(100_000)
	var id session.ID
	err := b.runServer(ctx, h, func(s *server) (err error) {
		id, err = s.begin(ctx)
		return err
	})
	if err == nil {
		err = copySession(ctx, h.dataDir(), id, n)
	}
	if err != nil {
		return err
	}
	return b.runServer(ctx, h, func(s *server) error {
		quiet := b.settle(ctx)
		var ms []float64
		for range 21 {
			start := time.Now()
			body, err := s.get(ctx, "/api/session", nil)
			if err != nil {
				return err
			}
			ms = append(ms, toMillis(time.Since(start)))
			if count, _ := countEntries(body); count < 20 {
				return fmt.Errorf("the first page has %d sessions", count)
			}
		}
		foreign := quiet.foreignSince()
		b.add(row{
			ID: "P20", What: fmt.Sprintf("first page of %dk sessions", n/1000), Figure: medianOf(ms[1:]), Unit: "ms",
			N: len(ms) - 1, Target: 5, Foreign: foreign,
		})
		b.add(row{ID: "P20", What: "the same, the first time", Figure: ms[0], Unit: "ms", N: 1, Foreign: foreign})
		return nil
	})
}

// copySession writes n sessions that are like the one with the id.
func copySession(ctx context.Context, dir string, id session.ID, n int) (err error) {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	like, err := store.ReadSession(ctx, s, id)
	for made := 0; made < n && err == nil; made += 1_000 {
		_, err = createSessions(ctx, s, min(1_000, n-made), *like)
	}
	return err
}

// createSessions creates empty sessions with the project and the location of one, and returns a writer of each.
func createSessions(ctx context.Context, s store.Store, n int, like session.Session) (out []*historyWriter, err error) {
	err = s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		out = nil
		for range n {
			w := &historyWriter{ids: &session.IDs{}, seq: -1, now: time.Now().UnixMilli()}
			w.id = session.ID(w.ids.New(session.PrefixSession))
			info := like
			info.ID, info.Title = w.id, "bench"
			info.Time = session.SessionTime{Created: w.now, Updated: w.now}
			if err := w.append(tx, &session.Created{Info: info}); err != nil {
				return err
			}
			out = append(out, w)
		}
		return nil
	})
	return out, err
}
