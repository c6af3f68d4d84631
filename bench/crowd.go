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

// sessions makes 10,000 of them and lists them.
func (b *bench) sessions(ctx context.Context) error {
	s, _, err := b.warm(ctx, "sessions")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	one, err := createRate(ctx, s, b.scaled(1000), 1)
	if err != nil {
		return err
	}
	foreign := quiet.foreign()
	p50, _ := b.limits.sync()
	b.add(row{ID: "P20", What: "sessions made per second, one client", Figure: one, Unit: "/s", N: b.scaled(1000), Target: 1000, AtLeast: true, Limit: 1000 / p50, Of: "fdatasyncs in a row", Foreign: foreign})
	many, err := createRate(ctx, s, b.scaled(9000), 16)
	if err != nil {
		return err
	}
	b.add(row{ID: "P20", What: "sessions made per second, 16 clients", Figure: many, Unit: "/s", N: b.scaled(9000), Foreign: quiet.foreign()})
	quiet = b.settle(ctx)
	var first, all []float64
	for range b.scaled(20) {
		start := time.Now()
		if _, err := s.get(ctx, "/api/session", nil); err != nil {
			return err
		}
		first = append(first, millis(time.Since(start)))
	}
	for range 5 {
		start := time.Now()
		_, _, err := s.pages(ctx, "/api/session", url.Values{"limit": {"1000"}})
		if err != nil {
			return err
		}
		all = append(all, millis(time.Since(start)))
	}
	foreign = quiet.foreign()
	b.add(row{ID: "P20", What: "first page of 10k sessions", Figure: median(first), Unit: "ms", N: len(first), Target: 5, Foreign: foreign})
	b.add(row{ID: "P20", What: "all 10k sessions", Figure: median(all), Unit: "ms", N: len(all), Target: 60, Foreign: foreign})
	return nil
}

// pages fetches a list to its end and returns how many entries and bytes there are.
func (s *server) pages(ctx context.Context, path string, q url.Values) (n, size int, err error) {
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
		count, tail := entries(body)
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

// crowd is 100 sessions at once, each with an answer of 150 deltas at 50 per second and a reader of its own. They may all
// work at the same time: by default 32 do, and the others wait in the state "queued".
func (b *bench) crowd(ctx context.Context) error {
	s, _, err := b.warmAt(ctx, b.homeWith("crowd", `{"sessions":128}`))
	if err != nil {
		return err
	}
	defer s.stop()
	const sessions = 100
	quiet := b.settle(ctx)
	o := order{n: b.scaled(150), every: 20 * time.Millisecond, stamp: true}
	people := make([]person, sessions)
	for i := range people {
		if people[i].id, err = s.begin(ctx); err != nil {
			return err
		}
		people[i].fan = newFan(o)
		if err := s.follow(ctx, people[i].fan, people[i].id, 1); err != nil {
			return err
		}
	}
	most := watch(s.pid())
	start := time.Now()
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() { people[i].ask(ctx, b, s, o) })
	}
	all.Wait()
	took := time.Since(start)
	foreign, peak := quiet.foreign(), most.end()
	var first, late []float64
	for _, p := range people {
		if p.err != nil {
			return p.err
		}
		first, late = append(first, p.first), append(late, p.fan.latencies...)
	}
	b.add(row{ID: "P21", What: "100 sessions: first token later by, p50", Figure: median(first), Unit: "ms", N: sessions, Target: 50, Foreign: foreign})
	b.add(row{ID: "P21", What: "100 sessions: first token later by, p99", Figure: quantile(first, 0.99), Unit: "ms", N: sessions, Target: 150, Foreign: foreign})
	b.add(row{ID: "P21", What: "100 sessions: added to a delta, p99", Figure: quantile(late, 0.99), Unit: "ms", N: len(late), Foreign: foreign})
	b.add(row{ID: "P21", What: "100 sessions: peak RSS", Figure: peak, Unit: "MiB", N: 1, Target: 250, Foreign: foreign})
	b.add(row{ID: "P21", What: "100 sessions: all done in", Figure: took.Seconds(), Unit: "s", N: 1, Limit: (time.Duration(o.n-1) * o.every).Seconds(), Of: "the model", Foreign: foreign})
	return nil
}

// person is one of the crowd.
type person struct {
	id    session.ID
	fan   *fan
	first float64 // ms from the prompt to the first token, without the model's share
	err   error
}

func (p *person) ask(ctx context.Context, b *bench, s *server, o order) {
	var t turnTimes
	if t, p.err = b.turn(ctx, s, p.id, o); p.err != nil {
		return
	}
	if p.err = p.fan.wait(ctx); p.err == nil {
		p.first = millis(p.fan.first.Sub(t.posted) - slices.MinFunc(t.exchanges, earlier).modelShare())
	}
}

func earlier(a, b exchange) int { return a.arrived.Compare(b.arrived) }

// modelShare is how long the model took to begin.
func (e exchange) modelShare() time.Duration { return e.first.Sub(e.arrived) }
