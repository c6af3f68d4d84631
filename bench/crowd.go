package main

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

// measureSessionLists creates 10,000 sessions and lists them.
func (b *bench) measureSessionLists(ctx context.Context) error {
	s, _, err := b.startWarmServer(ctx, "sessions")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	one, err := createRate(ctx, s, b.scaleCount(1000), 1)
	if err != nil {
		return err
	}
	foreign := quiet.foreignSince()
	p50, _ := b.limits.syncTime()
	b.add(
		row{
			ID: "P20", What: "sessions made per second, one client", Figure: one, Unit: "/s", N: b.scaleCount(1000),
			Target: 1000, AtLeast: true, Limit: 1000 / p50, Of: "fdatasyncs in a row", Foreign: foreign,
		},
	)
	many, err := createRate(ctx, s, b.scaleCount(9000), 16)
	if err != nil {
		return err
	}
	b.add(
		row{
			ID: "P20", What: "sessions made per second, 16 clients", Figure: many, Unit: "/s", N: b.scaleCount(9000),
			Foreign: quiet.foreignSince(),
		},
	)
	quiet = b.settle(ctx)
	var first, all []float64
	for range b.scaleCount(20) {
		start := time.Now()
		if _, err := s.get(ctx, "/api/session", nil); err != nil {
			return err
		}
		first = append(first, toMillis(time.Since(start)))
	}
	for range 5 {
		start := time.Now()
		_, _, err := s.readPages(ctx, "/api/session", url.Values{"limit": {"1000"}})
		if err != nil {
			return err
		}
		all = append(all, toMillis(time.Since(start)))
	}
	foreign = quiet.foreignSince()
	b.add(
		row{
			ID: "P20", What: "first page of 10k sessions", Figure: medianOf(first), Unit: "ms", N: len(first), Target: 5,
			Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P20", What: "all 10k sessions", Figure: medianOf(all), Unit: "ms", N: len(all), Target: 60,
			Foreign: foreign,
		},
	)
	return nil
}

// readPages fetches all pages of a list and returns the number of entries and bytes.
func (s *server) readPages(ctx context.Context, path string, q url.Values) (n, size int, err error) {
	for {
		body, err := s.get(ctx, path, q)
		if err != nil {
			return n, size, err
		}
		var p struct {
			Cursor struct {
				Next string `json:"next"`
			} `json:"cursor"`
		}
		count, tail := countEntries(body)
		if err := json.Unmarshal(tail, &p); err != nil {
			return n, size, err
		}
		n, size = n+count, size+len(body)
		if count == 0 || p.Cursor.Next == "" {
			return n, size, nil
		}
		q = url.Values{"cursor": {p.Cursor.Next}, "limit": q["limit"]}
	}
}

func createRate(ctx context.Context, s *server, n, clients int) (float64, error) {
	errs := make([]error, clients)
	start := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for range (n + clients - 1) / clients {
				if _, err := s.begin(ctx); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(start).Seconds(), errors.Join(errs...)
}

// measureConcurrentSessions runs 100 sessions at once, each with a response of 150 deltas at 50 per second and a reader
// of its own. All may work at the same time; by default 32 do, and the others are queued.
func (b *bench) measureConcurrentSessions(ctx context.Context) error {
	s, _, err := b.startWarmServerAt(ctx, b.newHomeWithLimits("crowd", `{"sessions":128}`))
	if err != nil {
		return err
	}
	defer s.stop()
	const sessions = 100
	quiet := b.settle(ctx)
	o := order{n: b.scaleCount(150), every: 20 * time.Millisecond, stamp: true}
	people := make([]client, sessions)
	for i := range people {
		if people[i].id, err = s.begin(ctx); err != nil {
			return err
		}
		people[i].fan = newFan(o)
		if err := s.follow(ctx, people[i].fan, people[i].id, 1); err != nil {
			return err
		}
	}
	most := watchMemory(s.pid())
	start := time.Now()
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() { people[i].run(ctx, b, s, o) })
	}
	all.Wait()
	took := time.Since(start)
	foreign, peak := quiet.foreignSince(), most.finish()
	var first, late []float64
	for _, p := range people {
		if p.err != nil {
			return p.err
		}
		first, late = append(first, p.first), append(late, p.fan.latencies...)
	}
	b.add(
		row{
			ID: "P21", What: "100 sessions: first token later by, p50", Figure: medianOf(first), Unit: "ms", N: sessions,
			Target: 50, Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P21", What: "100 sessions: first token later by, p99", Figure: quantileOf(first, 0.99), Unit: "ms",
			N: sessions, Target: 150, Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P21", What: "100 sessions: added to a delta, p99", Figure: quantileOf(late, 0.99), Unit: "ms", N: len(late),
			Foreign: foreign,
		},
	)
	b.add(
		row{ID: "P21", What: "100 sessions: peak RSS", Figure: peak, Unit: "MiB", N: 1, Target: 250, Foreign: foreign},
	)
	b.add(
		row{
			ID: "P21", What: "100 sessions: all done in", Figure: took.Seconds(), Unit: "s", N: 1,
			Limit: (time.Duration(o.n-1) * o.every).Seconds(), Of: "the model", Foreign: foreign,
		},
	)
	return nil
}

// client is one of the concurrent clients.
type client struct {
	id    session.ID
	fan   *readerGroup
	first float64 // ms from the prompt to the first token, without the model's time
	err   error
}

func (p *client) run(ctx context.Context, b *bench, s *server, o order) {
	var t turnTimes
	if t, p.err = b.runTurn(ctx, s, p.id, o); p.err != nil {
		return
	}
	if p.err = p.fan.wait(ctx); p.err == nil {
		p.first = toMillis(p.fan.first.Sub(t.posted) - slices.MinFunc(t.exchanges, compareArrival).modelShare())
	}
}

func compareArrival(a, b exchange) int { return a.arrived.Compare(b.arrived) }

// modelShare returns the model's time to its first byte.
func (e exchange) modelShare() time.Duration { return e.first.Sub(e.arrived) }
