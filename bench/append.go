//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// measureAppends measures durable commits: a row of 300 bytes per transaction, in 1, 10 and 100 sessions at once.
// BenchmarkAppend of package eventlog measures the same with projections.
func (b *bench) measureAppends(ctx context.Context) (err error) {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(b.dir, "append")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	single, batched, err := b.limits.insertRates()
	if err != nil {
		return err
	}
	for _, sessions := range []int{1, 10, 100} {
		quiet := b.settle(ctx)
		n, took, err := appendRate(ctx, s, sessions, time.Duration(b.scaleCount(1500))*time.Millisecond)
		if err != nil {
			return err
		}
		limit, of := single, "SQLite, one row per commit"
		if sessions == 100 {
			limit, of = batched, "SQLite, 64 rows per commit"
		}
		b.add(row{
			ID: "P17", What: fmt.Sprintf("durable appends, %d sessions", sessions), Figure: float64(n) / took.Seconds(),
			Unit: "/s", N: n,
			Target: limit / 2, AtLeast: true, Limit: limit, Of: of, Foreign: quiet.foreignSince(),
		})
	}
	return nil
}

func appendRate(ctx context.Context, s store.Store, sessions int, span time.Duration) (int, time.Duration, error) {
	data := fmt.Appendf(nil, `{"timestamp":1,"text":%q}`, strings.Repeat("x", 270))
	errs, counts := make([]error, sessions), make([]int, sessions)
	start := time.Now()
	var all sync.WaitGroup
	for w := range sessions {
		all.Go(func() {
			id := session.ID(fmt.Sprintf("ses_%03d%023d", sessions, w))
			for errs[w] == nil && time.Since(start) < span {
				row := store.EventRow{
					ID:        session.EventID(fmt.Sprintf("evt_%07d%05d%014d", counts[w], w, sessions)),
					SessionID: id, Seq: int64(counts[w]), Kind: session.KindTextEnded, Version: 1, Data: data,
				}
				errs[w] = s.Update(ctx, store.Durable, func(tx store.Tx) error {
					_, err := tx.InsertEvent(row)
					return err
				})
				counts[w]++
			}
		})
	}
	all.Wait()
	n := 0
	for _, c := range counts {
		n += c
	}
	return n, time.Since(start), errors.Join(errs...)
}
