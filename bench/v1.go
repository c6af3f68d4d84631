//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// The rows of OpenCode's V1 API. Their limit is OpenCode itself, if it is installed.

// addBoth adds a row of cairn's figures beside OpenCode's.
func (b *bench) addBoth(r row, values ...[]float64) {
	r.Figure, r.N = medianOf(values[0]), len(values[0])
	if len(values) > 1 && len(values[1]) > 0 {
		r.Limit, r.Of = medianOf(values[1]), "OpenCode"
	}
	b.add(r)
}

// measureV1Start measures the time to the first response and the usage of the idle server after it.
func (b *bench) measureV1Start(ctx context.Context) error {
	speakers, err := b.newServers("v1start")
	if err != nil {
		return err
	}
	quiet := b.settle(ctx)
	ready, memory := make([][]float64, 2), make([][]float64, 2)
	for i := range b.scaleCount(7) + 1 {
		for n, p := range speakers {
			s, err := p.start(ctx, b.work)
			if err != nil {
				return err
			}
			if i > 0 { // the first one makes the store
				time.Sleep(500 * time.Millisecond)
				ready[n] = append(ready[n], toMillis(s.ready))
				memory[n] = append(memory[n], toMiB(usageOf(s.pid()).rss))
			}
			s.stop()
		}
	}
	foreign := quiet.foreignSince()
	b.addBoth(
		row{ID: "P3", What: "V1: serve, to the first list of sessions", Unit: "ms", Target: 40, Foreign: foreign},
		ready...,
	)
	b.addBoth(
		row{ID: "P4", What: "V1: RSS of a server at rest, project open", Unit: "MiB", Target: 40, Foreign: foreign},
		memory...,
	)
	return nil
}

// measureV1Messages reads a whole session of 10,000 messages, the same one in cairn and in OpenCode.
func (b *bench) measureV1Messages(ctx context.Context) error {
	speakers, err := b.newServers("v1messages")
	if err != nil {
		return err
	}
	n := b.scaleCount(10_000)
	id, exported, err := b.longSession(ctx, speakers[0], n)
	if err != nil {
		return err
	}
	first, last, memory := make([][]float64, 2), make([][]float64, 2), make([][]float64, 2)
	size := 0
	quiet := b.settle(ctx)
	for i, p := range speakers {
		if i > 0 {
			if err := p.importSession(ctx, exported, filepath.Join(b.dir, "exported.json")); err != nil {
				return err
			}
		}
		s, err := p.start(ctx, b.work)
		if err != nil {
			return err
		}
		most := watchMemory(s.pid())
		for range 7 {
			f, err := s.get(ctx, "/session/"+string(id)+"/message", nil)
			if err == nil && bytes.Count(f.body, []byte(`{"info":`)) < n {
				err = fmt.Errorf("%s: %d messages of %d are listed", p.name, bytes.Count(f.body, []byte(`{"info":`)), n)
			}
			if err != nil {
				s.stop()
				return err
			}
			first[i], last[i], size = append(first[i], toMillis(f.first)), append(last[i], toMillis(f.last)), len(f.body)
		}
		memory[i] = append(memory[i], most.finish())
		s.stop()
	}
	foreign := quiet.foreignSince()
	what := fmt.Sprintf("V1: GET /session/:id/message, %d messages (%.1f MB)", n, float64(size)/1e6)
	b.addBoth(row{ID: "P18", What: what + ", to the first byte", Unit: "ms", Foreign: foreign}, first...)
	b.addBoth(row{ID: "P18", What: what, Unit: "ms", Target: 150, Foreign: foreign}, last...)
	b.addBoth(row{ID: "P18", What: "V1: peak RSS meanwhile", Unit: "MiB", Foreign: foreign}, memory...)
	return nil
}

// longSession creates a session of n messages in cairn's store and returns its export.
func (b *bench) longSession(ctx context.Context, p *serverProgram, n int) (session.ID, []byte, error) {
	s, err := p.start(ctx, b.work)
	if err != nil {
		return "", nil, err
	}
	id, err := s.create(ctx, "long")
	if err == nil {
		err = s.prompt(ctx, id, order{n: 1, size: 5})
	}
	s.stop()
	if err == nil {
		err = writeHistory(ctx, filepath.Join(b.dir, "v1messages", "data"), []session.ID{session.ID(id)}, []int{n})
	}
	if err != nil {
		return "", nil, err
	}
	if s, err = p.start(ctx, b.work); err != nil {
		return "", nil, err
	}
	defer s.stop()
	exported, err := s.export(ctx, id)
	return session.ID(id), exported, err
}

// measureV1Sessions lists 10,000 sessions in the ways of real clients.
func (b *bench) measureV1Sessions(ctx context.Context) error {
	speakers, err := b.newServers("v1sessions")
	if err != nil {
		return err
	}
	n := b.scaleCount(10_000)
	lists := []struct {
		name   string
		query  url.Values
		target float64
	}{
		{"as it is (100)", nil, 5},
		{"limit=" + strconv.Itoa(n), url.Values{"limit": {strconv.Itoa(n)}}, 60},
		{"roots=true", url.Values{"roots": {"true"}}, 5},
		{"search of one", url.Values{"search": {"number " + strconv.Itoa(n-7)}}, 0},
		{"start=now", url.Values{"start": {strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)}}, 5},
	}
	ms, memory := make([][][]float64, len(lists)), make([][]float64, 2)
	quiet := b.settle(ctx)
	for i, p := range speakers {
		s, err := p.start(ctx, b.work)
		if err == nil {
			err = s.createAll(ctx, n)
		}
		if err != nil {
			return err
		}
		most := watchMemory(s.pid())
		for l, list := range lists {
			ms[l] = append(ms[l], nil)
			for range 15 {
				f, err := s.get(ctx, "/session", list.query)
				if err != nil {
					s.stop()
					return err
				}
				ms[l][i] = append(ms[l][i], toMillis(f.last))
			}
		}
		memory[i] = append(memory[i], most.finish())
		s.stop()
	}
	foreign := quiet.foreignSince()
	for l, list := range lists {
		b.addBoth(
			row{
				ID: "P20", What: fmt.Sprintf("V1: GET /session of %d, %s", n, list.name), Unit: "ms", Target: list.target,
				Foreign: foreign,
			},
			ms[l]...,
		)
	}
	b.addBoth(row{ID: "P20", What: "V1: peak RSS meanwhile", Unit: "MiB", Foreign: foreign}, memory...)
	return nil
}

// measureV1Readers measures 100 readers of GET /event, of a response at full speed and of one at a model's speed.
func (b *bench) measureV1Readers(ctx context.Context) error {
	speakers, err := b.newServers("v1readers")
	if err != nil {
		return err
	}
	const readers = 100
	full := order{n: b.scaleCount(5_000), size: 5}
	paced := order{n: b.scaleCount(300), every: 10 * time.Millisecond, stamp: true}
	found := make([]crowdFigures, 2)
	quiet := b.settle(ctx)
	for i, p := range speakers {
		if found[i], err = b.readersOf(ctx, p, readers, full, paced); err != nil {
			return err
		}
	}
	foreign := quiet.foreignSince()
	for _, f := range []struct {
		row
		of func(crowdFigures) []float64
	}{
		{
			row{ID: "P12", What: "delivered to each", Unit: "/s", Target: 5000, AtLeast: true},
			func(f crowdFigures) []float64 { return f.rate },
		},
		{row{ID: "P12", What: "CPU per delta", Unit: "us"}, func(f crowdFigures) []float64 { return f.cpu }},
		{
			row{ID: "P12", What: "readers that missed something", Unit: ""},
			func(f crowdFigures) []float64 { return f.missed },
		},
		{
			row{ID: "P13", What: "one delta per 10 ms, added to it, p50", Unit: "ms"},
			func(f crowdFigures) []float64 { return f.p50 },
		},
		{
			row{ID: "P13", What: "one delta per 10 ms, added to it, p99", Unit: "ms"},
			func(f crowdFigures) []float64 { return f.p99 },
		},
		{
			row{ID: "P13", What: "one delta per 10 ms, CPU per delta", Unit: "us"},
			func(f crowdFigures) []float64 { return f.pacedCPU },
		},
		{
			row{ID: "P12", What: "peak RSS", Unit: "MiB", Target: 200},
			func(f crowdFigures) []float64 { return f.memory },
		},
	} {
		f.What, f.Foreign = fmt.Sprintf("V1: %d readers of /event: %s", readers, f.What), foreign
		b.addBoth(f.row, f.of(found[0]), f.of(found[1]))
	}
	return nil
}

// crowdFigures are the figures of 100 readers, one value per round.
type crowdFigures struct{ rate, cpu, missed, p50, p99, pacedCPU, memory []float64 }

func (b *bench) readersOf(
	ctx context.Context,
	p *serverProgram,
	readers int,
	full, paced order,
) (c crowdFigures, err error) {
	s, err := p.start(ctx, b.work)
	if err != nil {
		return c, err
	}
	defer s.stop()
	most := watchMemory(s.pid())
	for range 3 {
		f, used, err := s.streamTo(ctx, readers, full)
		if err != nil {
			return c, err
		}
		c.rate, c.cpu, c.missed = append(c.rate, f.deltaRate()), append(c.cpu, used), append(
			c.missed,
			f.countIncomplete(readers),
		)
		f, used, err = s.streamTo(ctx, readers, paced)
		if err != nil {
			return c, err
		}
		c.p50, c.p99, c.pacedCPU = append(c.p50, quantileOf(f.latencies, 0.5)), append(
			c.p99,
			quantileOf(f.latencies, 0.99),
		), append(c.pacedCPU, used)
		c.missed = append(c.missed, f.countIncomplete(readers))
	}
	c.missed = []float64{slices.Max(c.missed)}
	c.memory = append(c.memory, most.finish())
	return c, nil
}

// streamTo streams one response to the readers and returns what they received and the server's CPU time per delta, in
// microseconds. A reader without the whole response in time counts as incomplete.
func (s *v1Server) streamTo(ctx context.Context, readers int, o order) (*readerGroup, float64, error) {
	id, err := s.create(ctx, "events")
	if err == nil {
		err = s.prompt(ctx, id, order{n: 1, size: 5}) // exclude what the first prompt opens
	}
	if err != nil {
		return nil, 0, err
	}
	rctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	f := newFan(o)
	if err := s.follow(rctx, f, readers); err != nil {
		return nil, 0, err
	}
	time.Sleep(100 * time.Millisecond)
	before := usageOf(s.pid())
	if err := s.prompt(rctx, id, o); err != nil {
		return nil, 0, err
	}
	missed := f.wait(rctx)
	used := usageOf(s.pid()).cpu - before.cpu
	if missed != nil && (ctx.Err() != nil || len(f.got) < readers) {
		return nil, 0, missed
	}
	return f, float64(used.Microseconds()) / float64(o.n), nil
}

// countIncomplete returns the number of readers without the whole response.
func (f *readerGroup) countIncomplete(readers int) float64 {
	n := 0
	for _, got := range f.got {
		if got >= max(f.want, f.n) {
			n++
		}
	}
	return float64(readers - n)
}
