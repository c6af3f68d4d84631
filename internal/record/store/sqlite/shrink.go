package sqlite

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

// Space is what the database takes, in bytes, without its log. Free is the part that holds nothing.
type Space struct{ Bytes, Free int64 }

// MeasureSpace returns the space of the database.
func (s *Store) MeasureSpace(ctx context.Context) (out Space, err error) {
	if err := s.enter(ctx); err != nil {
		return out, err
	}
	defer s.work.Done()
	c, err := s.pool.acquireConn(ctx)
	if err != nil {
		return out, err
	}
	defer s.pool.releaseConn(c)
	var numbers [3]int64
	for i, pragma := range []string{"page_size", "page_count", "freelist_count"} {
		if numbers[i], err = queryInt(c, "PRAGMA "+pragma); err != nil {
			return out, newUnavailable("measure the database: %w", err)
		}
	}
	return Space{Bytes: numbers[0] * numbers[1], Free: numbers[0] * numbers[2]}, nil
}

// shrinkPages are given back at once: writes wait for no more.
const shrinkPages = 2000

// incremental is the mode of auto_vacuum in which single pages can be given back. Databases that an earlier version made
// have another one.
const incremental = 2

// Shrink gives the free pages of the database back to the disk. Reads and writes continue meanwhile. A database of an earlier
// version cannot: with rewrite it is written anew, which needs room for a second one and lets writes wait, else it stays.
func (s *Store) Shrink(ctx context.Context, rewrite bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.work.Done()
	if s.degraded != nil {
		return s.degraded
	}
	if rewrite {
		if err := s.checkRewriteRoom(ctx); err != nil {
			return err
		}
	}
	for more := true; more; {
		err := s.writer.runAlone(ctx, func(c dbConn) error {
			mode, err := queryInt(c, "PRAGMA auto_vacuum")
			if err != nil {
				return err
			}
			if mode != incremental {
				if more = rewrite; !more {
					return nil
				}
				c.Interrupt(ctx.Done())
				defer c.Interrupt(nil)
				err := c.Exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
				if err != nil {
					_ = s.writer.flush() // the log has what was written until then
				}
				return err
			}
			free, err := queryInt(c, "PRAGMA freelist_count")
			if more = free > 0; !more || err != nil {
				return err
			}
			return c.Exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkPages))
		})
		if err != nil {
			return err
		}
	}
	return s.writer.runAlone(ctx, func(dbConn) error { return s.writer.flush() })
}

// shrinkReserve is what a rewrite of the database leaves of the disk.
const shrinkReserve = 32 << 20

// checkRewriteRoom returns an error if a database of an earlier version would be written anew, and the disk has no room for
// what is in it and shrinkReserve.
func (s *Store) checkRewriteRoom(ctx context.Context) error {
	mode := int64(incremental)
	err := s.writer.runAlone(ctx, func(c dbConn) (err error) {
		mode, err = queryInt(c, "PRAGMA auto_vacuum")
		return err
	})
	if err != nil || mode == incremental {
		return err
	}
	space, err := s.MeasureSpace(ctx)
	if err != nil {
		return err
	}
	free, ok := s.freeSpace(s.dir)
	if need := space.Bytes - space.Free + shrinkReserve; ok && free < need {
		return session.Errorf(session.CodeConflict, "the database is of an earlier version and has to be written anew, which needs "+
			"%d MiB of the disk; it has %d MiB left", need>>20, free>>20)
	}
	return nil
}

// runAlone runs f on the writer's connection between two batches, outside of a transaction.
func (w *writer) runAlone(ctx context.Context, f func(dbConn) error) error {
	return w.await(ctx, &op{durable: true, alone: f, answer: make(chan error, 1)})
}

// serveAlone runs an op outside of a transaction.
func (w *writer) serveAlone(o *op) {
	w.batch = batch{ops: w.batch.ops[:0], sync: true}
	err := w.ensureConn()
	if err == nil {
		err = w.identity.checkLease()
	}
	if err != nil || !o.state.CompareAndSwap(opQueued, opBegun) {
		o.answer <- err
		return
	}
	if err = o.alone(w.conn); err != nil {
		err = newUnavailable("shrink the database: %w", err)
	}
	w.pages += 2 * shrinkPages
	o.answer <- err
}
