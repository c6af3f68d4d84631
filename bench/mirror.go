//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/mirror"
)

// What the mirror is measured with: rounds of a prompt and three turns, which are ten parts of V1, in turns to a few
// sessions.
const (
	partsPerRound   = 10
	partsPerSecond  = 1_000
	mirrorSessions  = 10
	mirrorSeconds   = 10
	rebuildMessages = 10_000
)

// measureMirror writes 1,000 parts a second into a store whose mirror is followed in this process, and measures how long
// after the commit a message is in its file. Then it makes a mirror of a store anew.
func (b *bench) measureMirror(ctx context.Context) (err error) {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(b.dir, "mirror")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	writers, err := createSessions(ctx, s, mirrorSessions, session.Session{ProjectID: "global"})
	if err != nil {
		return err
	}
	// Follow the store until the end.
	tree := filepath.Join(b.dir, "tree")
	m := &mirror.Mirror{Store: s, StoreID: s.ID(), Dir: tree, Logger: slog.New(slog.DiscardHandler)}
	wake := make(waker, 1)
	f := follower.Follower{
		Name: "mirror", Store: s, Log: wake, Consumer: m, File: mirror.CursorFile(tree), Logger: slog.New(slog.DiscardHandler),
	}
	following, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(following)
	}()
	defer func() { stop(); <-done; err = errors.Join(err, m.Close()) }()
	// Write at an even pace, and watch the files.
	quiet := b.settle(ctx)
	watch := &fileWatch{dir: tree}
	late, rate, err := b.writeRounds(ctx, s, writers, wake, watch)
	if err != nil {
		return err
	}
	b.add(row{
		ID: "P30", What: "mirror: parts written per second", Figure: rate, Unit: "/s", N: len(late) * partsPerRound,
		Target: 0.95 * partsPerSecond, AtLeast: true, Foreign: quiet.foreignSince(),
	})
	for _, q := range []struct {
		name   string
		p      float64
		target float64
	}{{"p50", 0.5, 0}, {"most", 1, 1_000}} {
		b.add(row{
			ID: "P30", What: "mirror: behind the commit at this rate, " + q.name, Figure: quantileOf(late, q.p), Unit: "ms",
			N: len(late), Target: q.target, Foreign: quiet.foreignSince(),
		})
	}
	return b.measureRebuild(ctx)
}

// waker wakes the follower. It is a follower.Log for commits that go around the log.
type waker chan struct{}

// WatchCommits implements follower.Log.
func (w waker) WatchCommits() (<-chan struct{}, func()) { return w, func() {} }

func (w waker) signal() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// writeRounds writes rounds at the rate of partsPerSecond. It returns how many milliseconds after its commit the newest
// message of each round was in the mirror, and how many parts were written per second.
func (b *bench) writeRounds(
	ctx context.Context, s store.Store, writers []*historyWriter, wake waker, watch *fileWatch,
) (late []float64, rate float64, err error) {
	rounds := b.scaleCount(partsPerSecond / partsPerRound * mirrorSeconds)
	start := time.Now()
	for i := range rounds {
		w := writers[i%len(writers)]
		if err := s.Update(ctx, store.Relaxed, w.appendRound); err != nil {
			return nil, 0, err
		}
		wake.signal()
		watch.add(w.id, w.newest)
		// Look at the files until the next round is due.
		due := start.Add(time.Duration(i+1) * time.Second * partsPerRound / partsPerSecond)
		for again := true; again && ctx.Err() == nil; again = time.Now().Before(due) {
			watch.look()
			time.Sleep(time.Millisecond)
		}
	}
	rate = float64(rounds*partsPerRound) / time.Since(start).Seconds()
	// Wait for the rest.
	for limit := time.Now().Add(30 * time.Second); len(watch.waiting) > 0; watch.look() {
		if ctx.Err() != nil || time.Now().After(limit) {
			return nil, 0, fmt.Errorf("%d messages are not in the mirror", len(watch.waiting))
		}
		time.Sleep(time.Millisecond)
	}
	return watch.late, rate, nil
}

// fileWatch finds out when messages are in a mirror. The order of the files of one session is that of their messages,
// and so is, nearly, that of all.
type fileWatch struct {
	dir     string
	waiting []awaited
	late    []float64 // ms
}

type awaited struct {
	file string
	at   time.Time
}

func (f *fileWatch) add(id session.ID, m session.MessageID) {
	file := filepath.Join(f.dir, "storage", "message", string(id), string(m)+".json")
	f.waiting = append(f.waiting, awaited{file, time.Now()})
}

func (f *fileWatch) look() {
	for len(f.waiting) > 0 {
		if _, err := os.Stat(f.waiting[0].file); err != nil {
			return
		}
		f.late = append(f.late, toMillis(time.Since(f.waiting[0].at)))
		f.waiting = f.waiting[1:]
	}
}

// measureRebuild makes the mirror of a session of 10,000 messages.
func (b *bench) measureRebuild(ctx context.Context) (err error) {
	n := b.scaleCount(rebuildMessages)
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(b.dir, "rebuild")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	writers, err := createSessions(ctx, s, 1, session.Session{ProjectID: "global"})
	if err != nil {
		return err
	}
	for w := writers[0]; w.messages < n; {
		if err := s.Update(ctx, store.Relaxed, w.appendRound); err != nil {
			return err
		}
	}
	m := &mirror.Mirror{
		Store: s, StoreID: s.ID(), Dir: filepath.Join(b.dir, "rebuilt"), Logger: slog.New(slog.DiscardHandler),
	}
	quiet := b.settle(ctx)
	start := time.Now()
	report, err := m.Repair(ctx)
	took := time.Since(start)
	if err = errors.Join(err, m.Close()); err != nil {
		return err
	}
	b.add(row{
		ID: "P30", What: fmt.Sprintf("mirror: files per second of a session of %d messages", n),
		Figure: float64(report.Written) / took.Seconds(), Unit: "/s", N: report.Written, Foreign: quiet.foreignSince(),
	})
	return nil
}
