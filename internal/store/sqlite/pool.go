package sqlite

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlstore"
)

// maxReaders bounds the connections for reading, and so the Views that run at once; more wait.
const maxReaders = 4

// pool holds the connections for reading. They are opened when they are first needed.
type pool struct {
	open func() (dbConn, error)
	slot chan dbConn // nil stands for a connection that is not open
}

func newPool(open func() (dbConn, error)) *pool {
	p := &pool{open: open, slot: make(chan dbConn, maxReaders)}
	for range maxReaders {
		p.slot <- nil
	}
	return p
}

// take returns a connection. The newest returned ones are not preferred: four are few.
func (p *pool) take(ctx context.Context) (dbConn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var c dbConn
	select {
	case c = <-p.slot:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c != nil {
		return c, nil
	}
	c, err := p.open()
	if err != nil {
		p.slot <- nil
		return nil, unavailable("open database for reading: %w", err)
	}
	return c, nil
}

// view runs f on a snapshot that is taken now.
func (p *pool) view(ctx context.Context, f func(store.Reader) error) (err error) {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	broken := true // also when f ends its goroutine
	defer func() {
		if broken || codeOf(err) != 0 {
			_ = c.Close()
			c = nil
		}
		p.slot <- c
	}()
	if err := snapshot(c); err != nil {
		return unavailable("begin to read: %w", err)
	}
	r := sqlstore.NewReader(c)
	err = call(f, store.Reader(r))
	r.End()
	if execute(c, "COMMIT") == nil {
		broken = false
	}
	return err
}

// snapshot begins a transaction and reads something, which is when SQLite fixes what it sees.
func snapshot(c dbConn) error {
	if err := execute(c, "BEGIN"); err != nil {
		return err
	}
	return execute(c, "SELECT 1 FROM meta WHERE key = ''")
}

// close closes the connections. Nobody may be reading.
func (p *pool) close() error {
	var errs []error
	for range maxReaders {
		if c := <-p.slot; c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
