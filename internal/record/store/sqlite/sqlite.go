// Package sqlite is the store on one machine: an SQLite database in a folder that one process owns (Lease).
//
// One goroutine writes, on one connection (writer). Transactions that wait at the same time share one commit, which is
// synced if one of them is Durable (adr 0003). A few connections read, each View on a snapshot (pool). The writer keeps
// the write-ahead log short.
//
// The folder contains, readable by its owner only:
//
//	cairn.db        the database, with cairn.db-wal and cairn.db-shm while it is open or after a crash
//	cairn.db-committed   the newest commit (commitRecord), empty unless it is open or after a crash;
//	                the database remembers that it has one
//	store-id        the id of the database that belongs here; if the database is missing, Open refuses to create an
//	                empty one
//	backup/         copies made before migrations
//	lease           the process that owns the folder
//
// Open opens a damaged or read-only database for reading only; DegradedError is the reason.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// Config configures Open.
type Config struct {
	Dir      string       // the folder; created if it does not exist
	ReadOnly bool         // never write, not even to create the database
	Version  string       // of this cairn, recorded in a new database
	Logger   *slog.Logger // nil discards

	CheckLease func() error // of the Lease: writes end with its error; nil is not checked
}

// Store is an open database. It implements store.Store.
type Store struct {
	pool     *pool
	writer   *writer // nil if degraded
	degraded error
	id       string
	identity *fileIdentity // nil if degraded

	unchecked string                         // see DescribeUnchecked
	dir       string                         // of the files
	freeSpace func(dir string) (int64, bool) // of the disk; fileattr.FreeSpace but in tests

	mu     sync.RWMutex // guards closed; nothing is added to work once it is set
	closed bool
	work   sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens the database in cfg.Dir, creates it if it does not exist, and migrates an old one after a backup. Unless
// cfg.ReadOnly, the caller must own the folder (AcquireLease).
//
// After an unclean end, Open checks that no committed event is missing, and the database for at most a second. A
// database that is damaged or cannot be written is opened read-only. Errors are ErrUnavailable and contain advice: the
// database is missing although one existed, was written by a newer cairn (ErrNewer), or cannot be read (ErrDamaged).
func Open(ctx context.Context, cfg Config) (*Store, error) {
	h, err := findHome(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.ReadOnly {
		return openReadOnly(h, errors.New("opened read-only"))
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := openWritable(ctx, h, cfg)
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

// openWritable opens the database for writing. It checks what a crash may have damaged before a connection can write,
// and starts the writer last.
func openWritable(ctx context.Context, h *home, cfg Config) (*Store, error) {
	unclean, err := h.prepare()
	if err != nil {
		return nil, err
	}
	// Check the database after an unclean end.
	before, unchecked := readCommitRecord(h.dir), ""
	if unclean && h.isUnfinished(before) {
		unclean = false // a new database, which has nothing to lose
	}
	if unclean || before != nil {
		if unchecked, err = h.checkAfterCrash(ctx, before, cfg.Logger); err != nil {
			return nil, err
		}
	}
	// Open it, migrate it, and begin the record of commits.
	log, _ := os.Stat(h.path + logSuffix)
	conn, err := h.openWriter()
	if err != nil {
		return nil, newUnavailable("open %s: %w", h.path, err)
	}
	commits, err := h.prepareSchema(ctx, conn, cfg.Version, before)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	at, err := newFileIdentity(h.path)
	if err != nil {
		commits.abandon()
		_ = conn.Close()
		return nil, err
	}
	at.lease = cfg.CheckLease
	_ = rememberRecord(conn) // fails on a full disk: then a missing record is not noticed
	// Start the writer.
	w := newWriter(conn, at.guardOpen(h.openWriter), at)
	w.commits = commits
	w.startedWithLog = log != nil && log.Size() > 0
	w.purge = w.startedWithLog
	s := start(w, at.guardOpen(h.openReader))
	s.id, s.unchecked, s.dir = commits.record.store, unchecked, h.dir
	return s, nil
}

// start returns the store of a writer, and starts it.
func start(w *writer, openReader func() (dbConn, error)) *Store {
	s := &Store{pool: newPool(openReader), writer: w, identity: w.identity, freeSpace: fileattr.FreeSpace}
	go s.writer.run()
	return s
}

// openReadOnly opens the database for reading only. why becomes the reason of DegradedError, unless events are missing:
// then that is the reason.
func openReadOnly(h *home, why error) (*Store, error) {
	record := readCommitRecord(h.dir) // before the rows: a process that owns the folder may commit meanwhile
	if h.exists() && h.isUnfinished(record) {
		return nil, newUnavailable("the creation of the database %s was not completed, and it has no data; "+
			"cairn serve, or any command that opens sessions, completes it", h.path)
	}
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
	if err == nil {
		s.unchecked, err = record.findUnchecked(conn, h.dir)
	}
	if _, lost := record.findMissing(conn, h.dir); errors.Is(lost, store.ErrDamaged) && err == nil {
		s.degraded = readOnly(lost)
	}
	s.pool.releaseConn(conn)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// ID returns the identity of the data, set when the database was created.
func (s *Store) ID() string { return s.id }

// DegradedError returns why the store is read-only: an ErrReadOnly, perhaps also an ErrDamaged; nil if it is not.
func (s *Store) DegradedError() error { return s.degraded }

// FindDamage returns the *store.Damage that Open found, nil without one.
func (s *Store) FindDamage() error {
	if d, ok := errors.AsType[*store.Damage](s.degraded); ok {
		return d
	}
	return nil
}

// DescribeUnchecked returns why Open could not check whether committed events are missing, "" if it could.
func (s *Store) DescribeUnchecked() string { return s.unchecked }

// WriteError returns why nothing can be written now: DegradedError, an ErrGone or an ErrLeaseLost; nil if writes are
// possible. It may be called at any time.
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

// Close implements store.Store. It copies the write-ahead log into the database.
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
