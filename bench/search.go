//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// words writes texts whose words are as frequent as those of a language. Each tenth is a hash in hexadecimal, of which an
// index has the parts between digits and letters.
type words struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newWords() *words {
	r := rand.New(rand.NewPCG(1, 2))
	return &words{r, rand.NewZipf(r, 1.1, 4, 60_000)}
}

func (w *words) write(n int) string {
	var b strings.Builder
	for range n {
		if n := uint32(w.zipf.Uint64()); n%10 == 9 {
			fmt.Fprintf(&b, "%08x ", n*2654435761) // Knuth's multiplicative hash
		} else {
			b.WriteString(strings.Map(func(r rune) rune { return r - '0' + 'b' }, strconv.Itoa(int(n))) + " ")
		}
	}
	return b.String()
}

// measureSearch searches 1,000,000 messages, beside the same words in FTS5 alone.
func (b *bench) measureSearch(ctx context.Context) error {
	dir, n := filepath.Join(b.dir, "search"), b.scaleCount(1_000_000)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	text := newWords()
	if err := writeMessages(ctx, s, text, n); err != nil {
		return err
	}
	x := &searchindex.Index{Store: s, StoreID: s.ID(), Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	defer x.Close()
	start := time.Now()
	if err := x.Rebuild(ctx, "", func(string) error { return nil }); err != nil {
		return err
	}
	b.add(row{
		ID: "P32", What: fmt.Sprintf("search index: messages indexed per second of %dk", n/1000),
		Figure: float64(n) / time.Since(start).Seconds(), Unit: "/s", N: n,
	})
	// One to three words of a text, as somebody remembers them.
	quiet := b.settle(ctx)
	var ours, bare []float64
	for range 200 {
		query := strings.TrimSpace(text.write(1 + text.random.IntN(3)))
		start := time.Now()
		if _, err := x.Search(ctx, searchindex.Query{Text: query, Now: time.Now().UnixMilli()}); err != nil {
			return err
		}
		ours = append(ours, toMillis(time.Since(start)))
		ms, err := searchBare(searchindex.File(dir), query)
		if err != nil {
			return err
		}
		bare = append(bare, ms)
	}
	foreign := quiet.foreignSince()
	for _, q := range []struct {
		name   string
		p      float64
		target float64
	}{{"p50", 0.5, 0}, {"p95", 0.95, 100}} {
		b.add(row{
			ID: "P32", What: fmt.Sprintf("search: first page of %dk messages, %s", n/1000, q.name), Figure: quantileOf(ours, q.p),
			Unit: "ms", N: len(ours), Target: q.target, Limit: quantileOf(bare, q.p), Of: "FTS5 alone, by rank", Foreign: foreign,
		})
	}
	return nil
}

// searchBare returns the milliseconds that FTS5 takes for the first page by rank.
func searchBare(file, query string) (float64, error) {
	c, err := zs.OpenConn(file, zs.OpenReadOnly)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	start := time.Now()
	err = sqlitex.ExecuteTransient(c, "SELECT rowid FROM entry WHERE entry MATCH ?1 ORDER BY rank LIMIT 20",
		&sqlitex.ExecOptions{Args: []any{query}, ResultFunc: func(*zs.Stmt) error { return nil }})
	return toMillis(time.Since(start)), err
}

// writeMessages writes n messages in sessions of 1,000.
func writeMessages(ctx context.Context, s store.Store, text *words, n int) error {
	ids := &session.IDs{}
	for written := 0; written < n; written += 1_000 {
		err := s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
			id := session.ID(ids.New(session.PrefixSession))
			if err := tx.PutSession(&session.Session{ID: id, Title: text.write(5)}); err != nil {
				return err
			}
			for i := range int64(1_000) {
				m := &session.User{Text: text.write(20 + text.random.IntN(80))}
				m.ID, m.Type, m.Seq = session.MessageID(ids.New(session.PrefixMessage)), session.TypeUser, i
				m.Time.Created = time.Now().UnixMilli()
				if err := tx.PutMessage(id, m, nil, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureIndexedAppends appends prompts one after another, with and without an index that follows, in turns.
func (b *bench) measureIndexedAppends(ctx context.Context) error {
	text := newWords()
	var ms [2][]float64
	for round := range 6 {
		of := round % 2
		got, err := appendPrompts(ctx, filepath.Join(b.dir, fmt.Sprintf("searchappend%d", round)), text, of == 1)
		if err != nil {
			return err
		}
		ms[of] = append(ms[of], got...)
	}
	without := medianOf(ms[0])
	b.add(row{
		ID: "P32", What: "search index: a durable append beside it, p50", Figure: medianOf(ms[1]), Unit: "ms", N: len(ms[1]),
		Target: 1.05 * without, Limit: without, Of: "without the index",
	})
	return nil
}

// appendPrompts returns the milliseconds of each append.
func appendPrompts(ctx context.Context, dir string, text *words, indexed bool) (ms []float64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ids := &session.IDs{}
	log := eventlog.New(eventlog.Config{Store: s, IDs: ids})
	id := session.ID(ids.New(session.PrefixSession))
	_, err = log.Append(ctx, id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(&session.Created{Info: session.Session{ID: id, Title: "bench"}}), nil
	})
	if err != nil {
		return nil, err
	}
	if indexed {
		x := &searchindex.Index{Store: s, StoreID: s.ID(), Dir: dir, Logger: slog.New(slog.DiscardHandler)}
		f := &follower.Follower{
			Name: "search", Store: s, Log: log, Consumer: x, File: searchindex.CursorFile(dir), Logger: x.Logger,
		}
		following, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { f.Run(following); close(done) }()
		defer func() { stop(); <-done; err = errors.Join(err, x.Close()) }()
	}
	for range 1_000 {
		prompt := &session.Prompted{
			MessageID: session.MessageID(ids.New(session.PrefixMessage)), Prompt: session.Prompt{Text: text.write(50)},
		}
		start := time.Now()
		_, err = log.Append(ctx, id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) { return eventlog.NewDrafts(prompt), nil })
		if err != nil {
			return nil, err
		}
		ms = append(ms, toMillis(time.Since(start)))
	}
	return ms, nil
}
