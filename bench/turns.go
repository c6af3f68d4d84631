//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// startWarmServer starts a server with a session that has had a few turns.
func (b *bench) startWarmServer(ctx context.Context, name string) (*server, session.ID, error) {
	return b.startWarmServerAt(ctx, b.newHome(name))
}

func (b *bench) startWarmServerAt(ctx context.Context, h *home) (*server, session.ID, error) {
	s, err := b.serve(ctx, h)
	if err != nil {
		return nil, "", err
	}
	id, err := s.begin(ctx)
	for range 5 {
		if err == nil {
			_, err = b.runTurn(ctx, s, id, order{n: 50, size: 5, calls: 1})
		}
	}
	if err != nil {
		s.stop()
	}
	return s, id, err
}

func (b *bench) measurePromptToRequest(ctx context.Context) error {
	s, id, err := b.startWarmServer(ctx, "prompt")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	var ms []float64
	for i := range b.scaleCount(300) {
		if i%50 == 0 { // keep histories equally long
			if id, err = s.begin(ctx); err != nil {
				return err
			}
			if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
				return err
			}
		}
		t, err := b.runTurn(ctx, s, id, order{n: 1, size: 5})
		if err != nil {
			return err
		}
		ms = append(ms, toMillis(t.toRequest))
	}
	foreign := quiet.foreignSince()
	p50, p99 := b.limits.syncTime()
	b.add(
		row{
			ID: "P7", What: "prompt to provider request, p50", Figure: medianOf(ms), Unit: "ms", N: len(ms), Target: 3,
			Limit: p50, Of: "one fdatasync", Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P7", What: "prompt to provider request, p99", Figure: quantileOf(ms, 0.99), Unit: "ms", N: len(ms),
			Limit: p99, Of: "one fdatasync, p99", Foreign: foreign,
		},
	)
	return nil
}

// measureToolChain measures a prompt whose response takes 20 sequential reads, and what turns write and spawn.
func (b *bench) measureToolChain(ctx context.Context) error {
	s, _, err := b.startWarmServer(ctx, "chain")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	const calls = 20
	var ms, chainBytes, plainBytes []float64
	spawned := int64(0)
	for range b.scaleCount(20) {
		id, err := s.begin(ctx)
		if err != nil {
			return err
		}
		if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond) // exclude late writes of the previous turn
		before := usageOf(s.pid())
		if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
			return err
		}
		middle := usageOf(s.pid())
		t, err := b.runTurn(ctx, s, id, order{n: 1, size: 5, calls: calls})
		if err != nil {
			return err
		}
		after := usageOf(s.pid())
		ms = append(ms, toMillis(t.outside)/(calls+1))
		plainBytes = append(plainBytes, float64(middle.written-before.written)/1000)
		chainBytes = append(chainBytes, float64(after.written-middle.written)/1000)
		spawned += after.spawned - before.spawned + int64(countChildren(s.pid()))
	}
	foreign := quiet.foreignSince()
	p50, _ := b.limits.syncTime()
	b.add(
		row{
			ID: "P8", What: "time per turn outside the model, chain of 20 reads", Figure: medianOf(ms), Unit: "ms",
			N: len(ms), Target: 4, Limit: p50, Of: "one fdatasync", Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P15", What: "processes started by these turns", Figure: float64(spawned), N: len(ms), Unit: "",
			Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P16", What: "bytes to disk, turn without tool (mean)", Figure: meanOf(plainBytes), Unit: "kB", N: len(ms),
			Target: 40, Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P16", What: "bytes to disk, chain of 20 reads (mean)", Figure: meanOf(chainBytes), Unit: "kB", N: len(ms),
			Target: 800, Foreign: foreign,
		},
	)
	return nil
}

// measureTurnRate counts short turns per second, in one session and in many.
func (b *bench) measureTurnRate(ctx context.Context) error {
	s, _, err := b.startWarmServer(ctx, "turns")
	if err != nil {
		return err
	}
	defer s.stop()
	for _, c := range []struct {
		sessions int
		target   float64
	}{{1, 150}, {32, 400}} {
		quiet := b.settle(ctx)
		n, took, err := b.turnRate(ctx, s, c.sessions, time.Duration(b.scaleCount(3000))*time.Millisecond)
		if err != nil {
			return err
		}
		foreign := quiet.foreignSince()
		p50, _ := b.limits.syncTime()
		b.add(row{
			ID: "P22", What: fmt.Sprintf("instant turns per second, %d sessions", c.sessions),
			Figure: float64(n) / took.Seconds(), Unit: "/s", N: n,
			Target: c.target, AtLeast: true, Limit: 1000 / p50, Of: "fdatasyncs in a row", Foreign: foreign,
		})
	}
	return nil
}

// turnRate runs rounds of new sessions, so that the histories stay short.
func (b *bench) turnRate(
	ctx context.Context,
	s *server,
	sessions int,
	span time.Duration,
) (n int, took time.Duration, err error) {
	each := max(4, 40/sessions)
	for took < span {
		ids := make([]session.ID, sessions)
		for i := range ids {
			if ids[i], err = s.begin(ctx); err != nil {
				return n, took, err
			}
			if _, err = b.runTurn(ctx, s, ids[i], order{n: 1, size: 5}); err != nil {
				return n, took, err
			}
		}
		errs := make([]error, sessions)
		start := time.Now()
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() {
				for range each {
					if _, errs[i] = b.runTurn(ctx, s, id, order{n: 20, size: 5}); errs[i] != nil {
						return
					}
				}
			})
		}
		all.Wait()
		took += time.Since(start)
		n += each * sessions
		if err = errors.Join(errs...); err != nil {
			return n, took, err
		}
	}
	return n, took, nil
}
