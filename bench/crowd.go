//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
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
// of its own.
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
	b.add(row{ID: "P21", What: "100 sessions: peak RSS", Figure: peak, Unit: "MiB", N: 1, Target: 250, Foreign: foreign})
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

// measureTasks measures what 100 subagents of one session cost, all at work at once, beside 100 sessions with one
// prompt each. The model answers at once.
func (b *bench) measureTasks(ctx context.Context) error {
	const children = 100
	plain, err := b.measureGroup(ctx, "tasksplain", children, order{n: 1, size: 5})
	if err != nil {
		return err
	}
	tree, err := b.measureGroup(ctx, "tasks", 1, order{n: 1, size: 5, tasks: children})
	if err != nil {
		return err
	}
	b.add(row{
		ID: "P27", What: "CPU per subagent, 100 at once", Figure: tree.cpu / children, Unit: "ms", N: children,
		Target: plain.cpu/children + 5, Limit: plain.cpu / children, Of: "a turn of a session of its own",
		Foreign: tree.foreign,
	})
	b.add(row{
		ID: "P27", What: "memory per subagent, 100 at once", Figure: tree.memory / children, Unit: "MiB", N: children,
		Target: 1, Limit: plain.memory / children, Of: "a session of its own", Foreign: tree.foreign,
	})
	return nil
}

// groupCost holds the resources that the turns of a group used: CPU in milliseconds, and the peak of memory above that
// before, in MiB.
type groupCost struct{ cpu, memory, foreign float64 }

// measureGroup takes one turn with the order in each of the sessions, all at once, on a server of their own.
func (b *bench) measureGroup(ctx context.Context, name string, sessions int, o order) (cost groupCost, err error) {
	s, _, err := b.startWarmServer(ctx, name)
	if err != nil {
		return cost, err
	}
	defer s.stop()
	ids := make([]session.ID, sessions)
	for i := range ids {
		if ids[i], err = s.begin(ctx); err != nil {
			return cost, err
		}
	}
	quiet := b.settle(ctx)
	before, peak := usageOf(s.pid()), watchMemory(s.pid())
	errs := make([]error, sessions)
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { _, errs[i] = b.runTurn(ctx, s, id, o) })
	}
	all.Wait()
	time.Sleep(50 * time.Millisecond) // late writes of the turns count
	cost.cpu = toMillis(usageOf(s.pid()).cpu - before.cpu)
	cost.memory = peak.finish() - toMiB(before.rss)
	cost.foreign = quiet.foreignSince()
	for _, err := range errs {
		if err != nil {
			return cost, fmt.Errorf("%s: %w", name, err)
		}
	}
	return cost, nil
}
