//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// readerGroup is a number of readers of the same deltas. Text is counted, not frames, because one frame may carry
// several deltas.
type readerGroup struct {
	want int // bytes of text; 0 with stamps
	n    int // deltas
	all  sync.WaitGroup

	mu        sync.Mutex // guards the rest
	first     time.Time  // any reader's first text
	last      time.Time  // the last reader's last text
	got       []int      // bytes of text, or deltas with stamps, per reader
	frames    int
	latencies []float64 // ms per delta, with stamps
	failed    error
}

func newFan(o order) *readerGroup {
	f := &readerGroup{n: o.n}
	if !o.stamp {
		f.want = o.n * o.size
	}
	return f
}

// read follows one stream until it has all the text; mark stands before each piece of it.
func (f *readerGroup) read(resp *http.Response, mark string) {
	f.all.Go(func() {
		defer resp.Body.Close()
		r := &reader{fan: f, mark: []byte(mark)}
		err := r.follow(resp.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		if err != nil {
			f.failed = errors.Join(f.failed, fmt.Errorf("a reader got %d of the text: %w", r.got, err))
		}
		f.got = append(f.got, r.got)
		f.frames += r.frames
		f.latencies = append(f.latencies, r.latencies...)
		if f.first.IsZero() || r.first.Before(f.first) {
			f.first = r.first
		}
		if r.last.After(f.last) {
			f.last = r.last
		}
	})
}

// wait returns when all readers have received everything.
func (f *readerGroup) wait(context.Context) error {
	f.all.Wait()
	return f.failed
}

// deltaRate returns the deltas per second that each reader received.
func (f *readerGroup) deltaRate() float64 { return float64(f.n) / f.last.Sub(f.first).Seconds() }

// reader is one reader of the group.
type reader struct {
	fan       *readerGroup
	mark      []byte
	got       int
	frames    int
	first     time.Time
	last      time.Time
	latencies []float64
}

func (r *reader) follow(body io.Reader) error {
	chunk := make([]byte, 64<<10)
	var rest []byte
	for {
		n, err := body.Read(chunk)
		at := time.Now()
		rest = append(rest, chunk[:n]...)
		for {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			r.readLine(line, at)
			rest = after
		}
		rest = append([]byte(nil), rest...)
		switch {
		case r.done():
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *reader) done() bool {
	if r.fan.want == 0 {
		return r.got >= r.fan.n
	}
	return r.got >= r.fan.want
}

func (r *reader) readLine(line []byte, at time.Time) {
	_, text, found := bytes.Cut(line, r.mark)
	if !found {
		return
	}
	if end := bytes.IndexByte(text, '"'); end >= 0 {
		text = text[:end] // the model's text needs no escapes
	}
	if len(text) == 0 {
		return
	}
	if r.first.IsZero() {
		r.first = at
	}
	r.last = at
	r.frames++
	if r.fan.want > 0 {
		r.got += len(text)
		return
	}
	for stamp := range bytes.SplitSeq(text, []byte(";")) {
		_, ns, ok := bytes.Cut(stamp, []byte(":"))
		if v, err := strconv.ParseInt(string(ns), 10, 64); ok && err == nil {
			r.latencies = append(r.latencies, toMillis(at.Sub(time.Unix(0, v))))
			r.got++
		}
	}
}

// follow opens a live stream of the session per reader.
func (s *server) follow(ctx context.Context, f *readerGroup, id session.ID, readers int) error {
	for range readers {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
		head, err := s.client.Session(ctx, id)
		if err != nil {
			return err
		}
		resp, err := s.open(ctx, c, "/api/session/"+string(head.ID)+"/event", url.Values{"live": {"1"}, "all": {"1"}})
		if err != nil {
			return err
		}
		f.read(resp, `"delta":"`)
	}
	return nil
}

// measureStream measures a response of 20,000 deltas at full speed.
func (b *bench) measureStream(ctx context.Context) error {
	s, _, err := b.startWarmServer(ctx, "stream")
	if err != nil {
		return err
	}
	defer s.stop()
	for _, c := range []streamLoad{{"P10", 1, 60_000, 80}, {"P11", 10, 40_000, 0}, {"P12", 100, 5_000, 200}} {
		if err := b.measureStreamTo(ctx, s, c); err != nil {
			return err
		}
	}
	return nil
}

// streamLoad is a number of readers with their targets.
type streamLoad struct {
	id      string
	readers int
	rate    float64
	memory  float64
}

func (b *bench) measureStreamTo(ctx context.Context, s *server, c streamLoad) error {
	o := order{n: b.scaleCount(20_000), size: 5}
	var rates, cpus, written, frames []float64
	quiet := b.settle(ctx)
	most := watchMemory(s.pid())
	for range 5 {
		id, err := s.begin(ctx)
		if err != nil {
			return err
		}
		f := newFan(o)
		rctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		if err := s.follow(rctx, f, id, c.readers); err != nil {
			cancel()
			return err
		}
		time.Sleep(30 * time.Millisecond)
		before := usageOf(s.pid())
		_, err = b.runTurn(rctx, s, id, o)
		err = errors.Join(err, f.wait(rctx))
		after := usageOf(s.pid())
		cancel()
		if err != nil {
			return err
		}
		rates = append(rates, f.deltaRate())
		cpus = append(cpus, float64((after.cpu-before.cpu).Microseconds())/float64(o.n))
		written = append(written, float64(after.written-before.written)/1000)
		frames = append(frames, float64(f.frames)/float64(c.readers))
	}
	foreign, peak := quiet.foreignSince(), most.finish()
	o.n /= max(1, c.readers/10) // otherwise net/http writes 500 MB to 100 readers
	bare, err := b.bareStream(ctx, c.readers, o)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("20k deltas, %d readers: ", c.readers)
	b.add(row{
		ID: c.id, What: what + "delivered to each", Figure: medianOf(rates), Unit: "/s", N: len(rates), Target: c.rate,
		AtLeast: true,
		Limit:   bare.deltaRate(), Of: "net/http alone", Foreign: foreign,
	})
	cpu := row{
		ID: c.id, What: what + "CPU per delta", Figure: medianOf(cpus), Unit: "us", N: len(rates), Foreign: foreign,
	}
	bytesRow := row{
		ID: c.id, What: what + "bytes to disk", Figure: medianOf(written), Unit: "kB", N: len(rates), Foreign: foreign,
	}
	if c.readers == 1 {
		cpu.Target, bytesRow.Target = 15, 1000
	}
	b.add(cpu)
	b.add(
		row{
			ID: c.id, What: what + "peak RSS", Figure: peak, Unit: "MiB", N: len(rates), Target: c.memory, Foreign: foreign,
		},
	)
	b.add(bytesRow)
	b.add(
		row{
			ID: c.id, What: what + "frames to each", Figure: medianOf(frames), Unit: "", N: len(rates), Foreign: foreign,
		},
	)
	return nil
}

// measurePacedStream measures the latency per delta at a real model's speed.
func (b *bench) measurePacedStream(ctx context.Context) error {
	s, id, err := b.startWarmServer(ctx, "paced")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	o := order{n: b.scaleCount(600), every: 10 * time.Millisecond, stamp: true}
	f := newFan(o)
	if err := s.follow(ctx, f, id, 1); err != nil {
		return err
	}
	if _, err := b.runTurn(ctx, s, id, o); err != nil {
		return err
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	o.n = b.scaleCount(200)
	bare, err := b.bareStream(ctx, 1, o)
	if err != nil {
		return err
	}
	foreign := quiet.foreignSince()
	for _, c := range []struct {
		name      string
		p, target float64
	}{{"p50", 0.5, 1}, {"p99", 0.99, 5}} {
		b.add(row{
			ID: "P13", What: "added to a delta at one per 10 ms, " + c.name, Figure: quantileOf(f.latencies, c.p), Unit: "ms",
			N:      len(f.latencies),
			Target: c.target, Limit: quantileOf(bare.latencies, c.p), Of: "net/http alone", Foreign: foreign,
		})
	}
	return nil
}
