package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
	"github.com/cairn-dev/cairn/internal/session"
)

var diskCount atomic.Int64

// mount makes the disk reachable and returns how to open the database on it, as home.openWriter does.
func mount(t testing.TB, d *disk, wrap func(*otherConn) dbConn) (open func() (dbConn, error), unmount func()) {
	name := fmt.Sprintf("disk%d", diskCount.Add(1))
	vfs.Register(name, d)
	return func() (dbConn, error) {
		c, err := openOther("file:cairn.db?vfs=" + name)
		if err != nil {
			return nil, err
		}
		// Without shared memory there is one connection only; everything else is as in the product.
		err = c.Exec("PRAGMA locking_mode = EXCLUSIVE;" + commonPragmas + writerPragmas)
		if err != nil {
			_ = c.Close()
			return nil, err
		}
		return wrap(c), nil
	}, func() { vfs.Unregister(name) }
}

func asItIs(c *otherConn) dbConn { return c }

// relaxed is the mutant that syncs no commit.
type relaxed struct{ *otherConn }

func (r relaxed) Exec(sql string) error {
	return r.otherConn.Exec(strings.ReplaceAll(sql, "synchronous = FULL", "synchronous = NORMAL"))
}

func asMutant(c *otherConn) dbConn { return relaxed{c} }

// formatted returns a disk with an empty database, all of it durable.
func formatted(t testing.TB) *disk {
	d := newDisk(0)
	d.names["cairn.db"] = &node{}
	d.durable["cairn.db"] = d.names["cairn.db"] // home.prepare syncs the folder
	open, unmount := mount(t, d, asItIs)
	defer unmount()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := migrateOn(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range d.nodes() {
		n.synced, n.pending = slices.Clone(n.data), nil
	}
	return d.copyOf(0)
}

func migrateOn(c dbConn) error {
	h := &home{migrations: embeddedMigrations()}
	found, pending, err := h.findPending(c)
	if err != nil {
		return err
	}
	return h.migrateSchema(context.Background(), c, found, pending, "test")
}

// done records one transaction of a worker.
type done struct {
	id        session.ID
	first     int64 // seq; the second event has the next
	position  int64
	durable   bool
	err       error
	checkable bool // err says for sure what happened
}

// work lets workers commit until each made its transactions or, if untilDead, the store fails for good.
func work(t testing.TB, s *Store, rng *rand.Rand, workers, each int, untilDead bool) []done {
	var mu sync.Mutex
	var all []done
	var wg sync.WaitGroup
	for w := range workers {
		kinds := make([]bool, each)
		for i := range kinds {
			kinds[i] = rng.IntN(2) == 0
		}
		wg.Go(func() {
			id := session.ID(fmt.Sprintf("ses_%d", w))
			for _, durable := range kinds {
				r := done{id: id, durable: durable}
				d := store.Relaxed
				if durable {
					d = store.Durable
				}
				r.err = s.Update(t.Context(), d, func(tx store.Tx) (err error) {
					head, err := tx.Head(id)
					if err != nil {
						return err
					}
					r.first = head + 1
					if _, err = tx.InsertEvent(testEvent(id, head+1)); err != nil {
						return err
					}
					r.position, err = tx.InsertEvent(testEvent(id, head+2))
					return err
				})
				r.checkable = !errors.Is(r.err, store.ErrUncertain)
				mu.Lock()
				all = append(all, r)
				mu.Unlock()
				if r.err != nil && untilDead {
					return
				}
			}
		})
	}
	wg.Wait()
	return all
}

// found reads all events of a database by session.
func found(t testing.TB, c dbConn) (map[session.ID][]store.EventRow, error) {
	problems, err := checkIntegrity(c, "PRAGMA integrity_check(3)")
	if err != nil || len(problems) > 0 {
		return nil, fmt.Errorf("integrity: %v, %w", problems, err)
	}
	rows, err := sqlstore.NewReader(c).Events("", 0, 0)
	out := map[session.ID][]store.EventRow{}
	for _, r := range rows {
		if r.Seq != int64(len(out[r.SessionID])) {
			return nil, fmt.Errorf("%s has seq %d where %d is next", r.SessionID, r.Seq, len(out[r.SessionID]))
		}
		out[r.SessionID] = append(out[r.SessionID], r)
	}
	for id, rows := range out {
		if len(rows)%2 != 0 {
			return nil, fmt.Errorf("%s: half a transaction", id)
		}
	}
	return out, err
}

// lost returns how many acknowledged Durable transactions are missing, and what else is wrong: acknowledged
// transactions must be there up to some moment, and none after it.
func lost(acked []done, there map[session.ID][]store.EventRow) (n int, wrong error) {
	slices.SortFunc(acked, func(a, b done) int { return cmp.Compare(a.position, b.position) })
	gone := int64(0)
	for _, a := range acked {
		present := a.first+1 < int64(len(there[a.id])) && there[a.id][a.first+1].Position == a.position
		switch {
		case !present && a.durable:
			n++
			gone = a.position
		case !present:
			gone = a.position
		case gone != 0:
			wrong = fmt.Errorf("the transaction at position %d was kept, the one at %d before it was lost", a.position, gone)
		}
	}
	return n, wrong
}

// cut runs the workers on a copy of the disk, cuts the power within some operation and looks at what is left.
func cut(t testing.TB, base *disk, seed uint64, wrap func(*otherConn) dbConn) (n, acks int, wrong error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := base.copyOf(seed)
	d.cutAt = 1 + rng.IntN(360)
	open, unmount := mount(t, d, wrap)
	defer unmount()
	var acked []done
	if conn, err := open(); err == nil {
		s := start(newWriter(conn, open, nil), open)
		s.writer.pages = pagesIdle - int64(rng.IntN(600)) // so that some run into a checkpoint, early or late
		for _, r := range work(t, s, rng, 1+rng.IntN(4), 12, true) {
			if r.err == nil {
				acked = append(acked, r)
			}
		}
		d.mu.Lock()
		d.dead = true
		d.mu.Unlock()
		_ = s.Close()
	}
	after := d.afterCut(seed)
	openAfter, unmountAfter := mount(t, after, wrap)
	defer unmountAfter()
	conn, err := openAfter()
	if err != nil {
		return 0, len(acked), err
	}
	defer conn.Close()
	there, err := found(t, conn)
	if err != nil {
		return 0, len(acked), err
	}
	n, wrong = lost(acked, there)
	return n, len(acked), wrong
}

// No acknowledged Durable transaction is lost by a power cut, Relaxed ones only as the newest (G1).
func TestPowerCuts(t *testing.T) {
	cuts := times(1000)
	base := formatted(t)
	begun, acks := time.Now(), 0
	for i := range uint64(cuts) {
		seed := seedOr(0)*uint64(cuts) + i
		n, a, wrong := cut(t, base, seed, asItIs)
		if n > 0 || wrong != nil {
			t.Errorf("seed %d: %d acknowledged Durable transactions lost; %v", seed, n, wrong)
		}
		acks += a
	}
	t.Logf("soak: trials=%d failures=0", cuts) // a failure fails the test
	t.Logf("%d cuts, %d acknowledged transactions, %v", cuts, acks, time.Since(begun).Round(time.Millisecond))
}

// The test can see what it looks for: without syncs, acknowledged transactions are lost.
func TestPowerCutsFindTheMutant(t *testing.T) {
	base := formatted(t)
	caught := 0
	for seed := range uint64(40) {
		n, _, wrong := cut(t, base, seed, asMutant)
		if wrong != nil {
			t.Errorf("seed %d: even unsynced commits are lost from the end only: %v", seed, wrong)
		}
		if n > 0 {
			caught++
		}
	}
	t.Logf("%d of 40 cuts lose acknowledged transactions", caught)
	if caught < 5 {
		t.Errorf("only %d of 40 cuts lose anything", caught)
	}
}

// A migration that is cut short leaves the old schema or the new one.
func TestPowerCutsOfAMigration(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled {
		step = 7
	}
	for k := 1; ; k += step {
		d := newDisk(uint64(k))
		d.names["cairn.db"] = &node{}
		d.durable["cairn.db"] = d.names["cairn.db"]
		d.cutAt = k
		open, unmount := mount(t, d, asItIs)
		c, err := open()
		if err == nil {
			err = migrateOn(c)
			_ = c.Close()
		}
		unmount()
		if d.ops < k {
			t.Logf("%d operations", d.ops)
			return
		}
		acked := err == nil
		openAfter, unmountAfter := mount(t, d.afterCut(uint64(k)), asItIs)
		c, err = openAfter()
		if err != nil {
			t.Fatalf("cut at %d: %v", k, err)
		}
		tables, err := queryInt(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
		if err != nil || (tables != 0 && tables < 9) || (acked && tables == 0) {
			t.Errorf("cut at %d: acknowledged %v, %d tables, %v", k, acked, tables, err)
		}
		if err := migrateOn(c); err != nil {
			t.Errorf("cut at %d: migrating again: %v", k, err)
		}
		_ = c.Close()
		unmountAfter()
	}
}

// Whatever operation fails, no caller gets a success that is not stored or a failure that is, and the store works
// once the fault is over.
func TestFailingOperations(t *testing.T) {
	base := formatted(t)
	step := 1
	if testing.Short() || raceEnabled {
		step = 9
	}
	for _, fault := range []struct {
		name    string
		err     func(opKind) error
		long    int
		forgets bool
	}{
		{"EIO", func(k opKind) error {
			return map[opKind]error{
				opWrite: sqlite3.IOERR_WRITE, opSync: sqlite3.IOERR_FSYNC, opTruncate: sqlite3.IOERR_TRUNCATE,
				opCreate: sqlite3.IOERR, opDelete: sqlite3.IOERR_DELETE,
			}[k]
		}, 1, false},
		{"EIO of a sync that is not repeated", func(k opKind) error {
			if k == opSync {
				return sqlite3.IOERR_FSYNC
			}
			return nil
		}, 1, true},
		{"ENOSPC", func(k opKind) error {
			if k == opWrite || k == opCreate {
				return sqlite3.FULL
			}
			return nil
		}, 1, false},
		{"ENOSPC for a while", func(k opKind) error {
			if k == opWrite || k == opCreate {
				return sqlite3.FULL
			}
			return nil
		}, 5, false},
		{"EIO for a while", func(opKind) error { return sqlite3.IOERR }, 5, true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			failed, uncertainly := 0, 0
			for k := 1; ; k += step {
				d := base.copyOf(uint64(k))
				d.forgets = fault.forgets
				d.fail = func(op int, kind opKind) error {
					if op < k || op >= k+fault.long {
						return nil
					}
					return fault.err(kind)
				}
				f, u := runFailing(t, d, k)
				failed, uncertainly = failed+f, uncertainly+u
				if d.ops < k || t.Failed() {
					t.Logf("%d operations, %d transactions failed, %d of them with unknown outcome", k, failed, uncertainly)
					return
				}
			}
		})
	}
}

func runFailing(t *testing.T, d *disk, k int) (failed, uncertainly int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(k), 2))
	open, unmount := mount(t, d, asItIs)
	defer unmount()
	conn, err := open()
	if err != nil {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("op %d: opening: %v", k, err)
		}
		return 1, 0
	}
	s := start(newWriter(conn, open, nil), open)
	s.writer.pages = pagesIdle - 120 // so that all run into a checkpoint
	results := work(t, s, rng, 2, 12, false)
	for _, r := range results {
		if r.err == nil {
			continue
		}
		failed++
		if !errors.Is(r.err, store.ErrUnavailable) {
			t.Errorf("op %d: the error is not ErrUnavailable: %v", k, r.err)
		}
		if !r.checkable {
			uncertainly++
		}
	}
	d.mu.Lock()
	d.fail = nil
	d.mu.Unlock()
	if last := work(t, s, rng, 2, 6, false); last[len(last)-1].err != nil {
		t.Errorf("op %d: the store does not recover: %v", k, last[len(last)-1].err)
	} else {
		results = append(results, last...)
	}
	image, cutPower := d, k%2 == 0
	if cutPower {
		image = d.afterCut(uint64(k))
	}
	if err := s.Close(); err != nil {
		t.Errorf("op %d: close: %v", k, err)
	}
	checkResults(t, k, image, results, cutPower)
	return failed, uncertainly
}

func checkResults(t *testing.T, k int, d *disk, results []done, cutPower bool) {
	t.Helper()
	open, unmount := mount(t, d, asItIs)
	defer unmount()
	conn, err := open()
	if err != nil {
		t.Errorf("op %d: reopening: %v", k, err)
		return
	}
	defer conn.Close()
	there, err := found(t, conn)
	if err != nil {
		t.Errorf("op %d: %v", k, err)
		return
	}
	acked := slices.DeleteFunc(slices.Clone(results), func(r done) bool { return r.err != nil })
	n, wrong := lost(acked, there)
	if n > 0 || wrong != nil {
		t.Errorf("op %d, power cut %v: %d acknowledged lost; %v", k, cutPower, n, wrong)
	}
	count, most := 0, 0
	for _, rows := range there {
		count += len(rows) / 2
	}
	for _, r := range results {
		if r.err == nil || !r.checkable {
			most++
		}
	}
	if count > most {
		t.Errorf("op %d: %d transactions are there, at most %d should be", k, count, most)
	}
}
