//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	zs "zombiezen.com/go/sqlite"
)

// limits are the machine's own times, each measured once when it is first needed.
type limits struct {
	dir     string
	spawned float64
	synced  [2]float64
	single  float64
	batched float64
}

// spawnTime returns the median wall time, in ms, of a process that does nothing.
func (l *limits) spawnTime(ctx context.Context) float64 {
	if l.spawned == 0 {
		var ms []float64
		for range 15 {
			start := time.Now()
			if exec.CommandContext(ctx, "true").Run() == nil {
				ms = append(ms, toMillis(time.Since(start)))
			}
		}
		l.spawned = medianOf(ms)
	}
	return l.spawned
}

// syncTime returns the median and the 99th percentile, in ms, of appending 4 KiB to a file with fdatasync.
func (l *limits) syncTime() (p50, p99 float64) {
	if l.synced[0] == 0 {
		ms, err := syncTimes(filepath.Join(l.dir, "sync"))
		if err != nil {
			return 0, 0
		}
		l.synced = [2]float64{medianOf(ms), quantileOf(ms, 0.99)}
	}
	return l.synced[0], l.synced[1]
}

func syncTimes(path string) (ms []float64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	for range 200 {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return nil, err
		}
		ms = append(ms, toMillis(time.Since(start)))
	}
	return ms, nil
}

// insertRates returns the rows of 300 bytes that SQLite commits durably per second, one by one and 64 at a time.
func (l *limits) insertRates() (single, batched float64, err error) {
	if l.single != 0 {
		return l.single, l.batched, nil
	}
	c, err := zs.OpenConn(filepath.Join(l.dir, "bare.db"), zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, sql := range []string{
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
		"CREATE TABLE e (session TEXT, seq INTEGER, data TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID",
	} {
		if err := execute(c, sql); err != nil {
			return 0, 0, err
		}
	}
	if l.single, err = insertRate(c, "ses_a", 1); err != nil {
		return 0, 0, err
	}
	l.batched, err = insertRate(c, "ses_b", 64)
	return l.single, l.batched, err
}

func execute(c *zs.Conn, sql string) error {
	s, _, err := c.PrepareTransient(sql)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = s.Step()
	}
	return errors.Join(err, s.Finalize())
}

func insertRate(c *zs.Conn, id string, batch int) (float64, error) {
	insert, err := c.Prepare("INSERT INTO e VALUES (?1, ?2, ?3)")
	if err != nil {
		return 0, err
	}
	begin, err := c.Prepare("BEGIN IMMEDIATE")
	if err != nil {
		return 0, err
	}
	commit, err := c.Prepare("COMMIT")
	if err != nil {
		return 0, err
	}
	step := func(s *zs.Stmt) error {
		_, err := s.Step()
		return errors.Join(err, s.Reset())
	}
	data := strings.Repeat("x", 300)
	n, start := 0, time.Now()
	for time.Since(start) < 500*time.Millisecond {
		err := step(begin)
		for range batch {
			insert.BindText(1, id)
			insert.BindInt64(2, int64(n))
			insert.BindText(3, data)
			err = errors.Join(err, step(insert))
			n++
		}
		if err = errors.Join(err, step(commit)); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// bareStream serves the same deltas with net/http alone, one stream per reader, from this process.
func (b *bench) bareStream(ctx context.Context, readers int, o order) (*readerGroup, error) {
	f := newFan(o)
	query := url.Values{"order": {strings.TrimPrefix(o.String(), "@bench ")}}
	address := strings.TrimSuffix(b.model.url, "/v1") + "/bare?" + query.Encode()
	for range readers {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		resp, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
		if err != nil {
			return nil, fmt.Errorf("bare stream: %w", err)
		}
		f.read(resp, `"content":"`)
	}
	return f, f.wait(ctx)
}

func toMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
