package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Report is the log with the result of its check.
type Report struct {
	Entries []Entry
	Problem string // what is wrong with the chain, the first such thing; "" if nothing is
}

// Read returns the entries in their order, and whether they are exactly those that were recorded. An entry behind a
// Problem proves nothing.
func (l *Trail) Read(ctx context.Context) (r Report, err error) {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	err = statefile.WithLock(ctx, l.statePath(), func() error {
		c, err := l.open()
		if _, damaged := errors.AsType[*damageError](err); damaged {
			r.Problem = err.Error()
			return nil
		}
		if err == nil {
			err = l.readChain(c, &r)
		}
		return err
	})
	if errors.Is(err, errAbsent) {
		return r, nil
	}
	return r, err
}

// readChain reads both files from the start of the older one.
func (l *Trail) readChain(c *chain, r *Report) error {
	at := c.state.First
	starts := []chainPoint{c.state.First}
	if c.state.Segment != c.state.First {
		starts = append(starts, c.state.Segment)
	}
	for _, start := range starts {
		raw, err := os.ReadFile(l.segmentPath(start))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if r.Problem == "" && at != start {
			r.Problem = fmt.Sprintf("entries are missing after entry %d", at.Seq)
		}
		c.readSegment(string(raw), &at, r)
	}
	if r.Problem == "" && at.Seq < c.state.Last.Seq {
		r.Problem = fmt.Sprintf("the log ends at entry %d, but entry %d was recorded", at.Seq, c.state.Last.Seq)
	}
	return nil
}

// readSegment adds the entries of a file to the report.
func (c *chain) readSegment(raw string, at *chainPoint, r *Report) {
	number := 0
	for line := range strings.Lines(raw) {
		number++
		e, ok := c.check(*at, line)
		switch {
		case ok:
			*at = chainPoint{e.Seq, e.MAC}
		case !strings.HasSuffix(line, "\n") && at.Seq >= c.state.Last.Seq: // a write that was cut off
		case r.Problem == "":
			r.Problem = fmt.Sprintf("line %d of a file is not the entry that was recorded after entry %d", number, at.Seq)
		}
		if e.Seq > 0 {
			r.Entries = append(r.Entries, e)
		}
	}
}
