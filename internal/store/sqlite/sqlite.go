// Package sqlite is the store on one machine: an SQLite database in a folder that one process owns (see Lease).
//
// One goroutine writes, on one connection; transactions that wait together share one commit, and a commit is synced if
// one of them is Durable. A few connections read, each View on a snapshot. The log is kept short by the writer.
//
// In the folder, all readable by the owner only:
//
//	cairn.db        the database, with cairn.db-wal and cairn.db-shm while it is open or after a crash
//	store-id        says that a database belongs here; if it is there and the database is not, Open refuses to begin
//	                an empty one
//	backup/         copies made before migrations
//	lease           which process owns the folder
//
// What Open finds damaged, or cannot write, it opens for reading only; Degraded says why.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cairn-dev/cairn/internal/store"
)

// Config says what to open.
type Config struct {
	Dir      string // the folder; it is created if need be
	ReadOnly bool   // write nothing, not even a missing database
	Version  string // of this cairn, recorded in a new database
}

// Store is an open database. It implements store.Store.
type Store struct {
	pool     *pool
	writer   *writer // nil if degraded
	degraded error
	id       string
	identity *fileIdentity // nil if degraded

	mu     sync.RWMutex // guards closed, and that nothing is added to work after it
	closed bool
	work   sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens the database in cfg.Dir, makes a new one if there is none, and brings an old one up to date after a
// backup. The caller owns the folder (AcquireLease), unless cfg.ReadOnly.
//
// After an unclean end the database is checked, for a second at most. One that is damaged or cannot be written is
// opened for reading only. Errors are ErrUnavailable and say what to do: the database is gone although there was one,
// was made by a newer cairn (ErrNewer), or cannot be read at all (ErrDamaged).
func Open(ctx context.Context, cfg Config) (*Store, error) {
	h, err := findHome(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.ReadOnly {
		return openReadOnly(h, errors.New("opened for reading only"))
	}
	s, err := openWritable(ctx, h, cfg.Version)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, ErrNewer), !h.exists():
		return nil, err
	case errors.Is(err, store.ErrDamaged), isUnwritable(err):
		s, rerr := openReadOnly(h, err)
		if rerr != nil {
			return nil, fmt.Errorf("%w; %s", err, h.recoveryAdvice())
		}
		return s, nil
	default:
		return nil, err
	}
}

func openWritable(ctx context.Context, h *home, version string) (*Store, error) {
	unclean, err := h.prepare()
	if err != nil {
		return nil, err
	}
	conn, err := h.openWriter()
	if err != nil {
		return nil, newUnavailable("open %s: %w", h.path, err)
	}
	id, err := h.prepareSchema(ctx, conn, version, unclean)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	at, err := newFileIdentity(h.path)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s := start(conn, at.guardOpen(h.openWriter), at.guardOpen(h.openReader), at)
	s.id = id
	return s, nil
}

// start makes a store of an open database. With at, its files must stay where they are.
func start(conn dbConn, openWriter, openReader func() (dbConn, error), at *fileIdentity) *Store {
	s := &Store{pool: newPool(openReader), writer: newWriter(conn, openWriter, at), identity: at}
	go s.writer.run()
	return s
}

func openReadOnly(h *home, why error) (*Store, error) {
	open, err := h.findReader()
	if err != nil {
		return nil, err
	}
	s := &Store{pool: newPool(open), degraded: readOnly(why)}
	conn, err := s.pool.acquireConn(context.Background())
	if err != nil {
		return nil, err
	}
	if s.id, err = metaValue(conn, "store-id"); err != nil {
		err = newUnavailable("read %s: %w", h.path, err)
	} else {
		err = h.checkUsable(conn, s.id)
	}
	s.pool.releaseConn(conn)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// ID returns the identity of the data, made once when the database was created.
func (s *Store) ID() string { return s.id }

// DegradedError returns why the store can only be read, an ErrReadOnly and perhaps an ErrDamaged; nil if it is whole.
func (s *Store) DegradedError() error { return s.degraded }

// WriteError returns why nothing can be written now: Degraded, or an ErrGone; nil if there is no reason. Safe at
// any time.
func (s *Store) WriteError() error {
	if s.degraded != nil {
		return s.degraded
	}
	return s.identity.check()
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.work.Done()
	if s.degraded != nil {
		return s.degraded
	}
	return s.writer.update(ctx, d, f)
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Reader) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.work.Done()
	return s.pool.view(ctx, f)
}

func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrClosed)
	}
	s.work.Add(1)
	return nil
}

// Close implements store.Store. It copies the log into the database.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	if was {
		return nil
	}
	err := s.pool.close()
	if s.writer != nil {
		close(s.writer.queue)
		<-s.writer.done
	}
	return err
}
