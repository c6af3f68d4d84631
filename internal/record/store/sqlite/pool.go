package sqlite

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

// maxReaders is the maximum number of connections for reading, and so of concurrent Views; more wait.
const maxReaders = 4

// pool holds the connections for reading. It opens one when all open ones are in use.
type pool struct {
	open  func() (dbConn, error)
	taken chan struct{} // one for each connection in use
	idle  chan dbConn   // open and not in use
}

func newPool(open func() (dbConn, error)) *pool {
	return &pool{open: open, taken: make(chan struct{}, maxReaders), idle: make(chan dbConn, maxReaders)}
}

// acquireConn returns a connection, to be released with releaseConn.
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

// releaseConn returns a connection to the pool, nil for a closed one.
func (p *pool) releaseConn(c dbConn) {
	if c != nil {
		p.idle <- c
	}
	<-p.taken
}

// view runs f on a snapshot of the current state.
func (p *pool) view(ctx context.Context, f func(store.Reader) error) (err error) {
	c, err := p.acquireConn(ctx)
	if err != nil {
		return err
	}
	broken := true // stays true if f ends its goroutine
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

// beginSnapshot begins a transaction and reads a row, which fixes the snapshot.
func beginSnapshot(c dbConn) error {
	if err := execute(c, "BEGIN"); err != nil {
		return err
	}
	return execute(c, "SELECT 1 FROM meta WHERE key = ''")
}

// close closes the connections. No View may be running.
func (p *pool) close() error {
	var errs []error
	for len(p.idle) > 0 {
		errs = append(errs, (<-p.idle).Close())
	}
	return errors.Join(errs...)
}
