package sqlite

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlstore"
)

// maxReaders bounds the connections for reading, and so the Views that run at once; more wait.
const maxReaders = 4

// pool holds the connections for reading. One is opened when all that are open are in use.
type pool struct {
	open  func() (dbConn, error)
	taken chan struct{} // one for each connection in use
	idle  chan dbConn   // open and not in use
}

func newPool(open func() (dbConn, error)) *pool {
	return &pool{open: open, taken: make(chan struct{}, maxReaders), idle: make(chan dbConn, maxReaders)}
}

// acquireConn returns a connection, to be given back.
func (p *pool) acquireConn(ctx context.Context) (dbConn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case p.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case c := <-p.idle:
		return c, nil
	default:
	}
	c, err := p.open()
	if err != nil {
		p.releaseConn(nil)
		return nil, newUnavailable("open database for reading: %w", err)
	}
	return c, nil
}

// releaseConn takes a connection back, nil for one that was closed.
func (p *pool) releaseConn(c dbConn) {
	if c != nil {
		p.idle <- c
	}
	<-p.taken
}

// view runs f on a snapshot that is taken now.
func (p *pool) view(ctx context.Context, f func(store.Reader) error) (err error) {
	c, err := p.acquireConn(ctx)
	if err != nil {
		return err
	}
	broken := true // also when f ends its goroutine
	defer func() {
		if broken || codeOf(err) != 0 {
			_ = c.Close()
			c = nil
		}
		p.releaseConn(c)
	}()
	if err := beginSnapshot(c); err != nil {
		return newUnavailable("begin to read: %w", err)
	}
	r := sqlstore.NewReader(c)
	err = call(f, store.Reader(r))
	r.End()
	if execute(c, "COMMIT") == nil {
		broken = false
	}
	return err
}

// beginSnapshot begins a transaction and reads something, which is when SQLite fixes what it sees.
func beginSnapshot(c dbConn) error {
	if err := execute(c, "BEGIN"); err != nil {
		return err
	}
	return execute(c, "SELECT 1 FROM meta WHERE key = ''")
}

// close closes the connections. Nobody may be reading.
func (p *pool) close() error {
	var errs []error
	for len(p.idle) > 0 {
		errs = append(errs, (<-p.idle).Close())
	}
	return errors.Join(errs...)
}
