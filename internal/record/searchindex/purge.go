package searchindex

import (
	"context"
	"fmt"

	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/record/follower"
)

// The states of meta.purge.
const (
	purgeWanted = 1 // words of removed documents are in the file
	purgeBegun  = 2 // the parts of the index are being merged
)

// trimShare is the share of the documents that leave an index that is too large.
const trimShare = 10

// mergePages are merged at once: a search that needs the index's newest state waits for no more.
const mergePages = 500

// Sync implements follower.Consumer.
func (x *Index) Sync(ctx context.Context) error {
	exists, err := x.Open(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return follower.ErrLost
	}
	err = x.use(ctx, func(c *zs.Conn) error {
		if err := x.trim(ctx, c); err != nil {
			return err
		}
		if err := purge(ctx, c); err != nil {
			return err
		}
		return makeDurable(c)
	})
	if x.discard(ctx, err) {
		return follower.ErrLost
	}
	return err
}

// makeDurable makes the commits of before durable. The log is copied into the database, which syncs it; if a reader prevents
// that, a commit with a sync does.
func makeDurable(c *zs.Conn) error {
	got, err := queryInts(c, "PRAGMA wal_checkpoint(PASSIVE)") // busy, pages of the log, pages that were copied
	if err != nil || got[1] == got[2] {
		return err
	}
	for _, sql := range []string{"PRAGMA synchronous = FULL", "UPDATE meta SET store = store", "PRAGMA synchronous = NORMAL"} {
		if err := execute(c, sql); err != nil {
			return err
		}
	}
	return nil
}

// purge overwrites the words of documents that were removed. FTS5 keeps them until it merges the parts of the index that
// have them; all are merged, some pages at a time, until ctx ends. The next Sync goes on.
func purge(ctx context.Context, c *zs.Conn) error {
	state, err := queryInts(c, "SELECT purge FROM meta")
	if err != nil || state[0] == 0 {
		return err
	}
	if state[0] == purgeWanted { // a negative number makes one level of all parts
		if _, err := merge(c, -mergePages); err != nil {
			return err
		}
		if err := execute(c, "UPDATE meta SET purge = ?1", purgeBegun); err != nil {
			return err
		}
	}
	for more := true; more; {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the rest is for the next Sync
		}
		if more, err = merge(c, mergePages); err != nil {
			return err
		}
	}
	if err := execute(c, "PRAGMA incremental_vacuum"); err != nil {
		return fmt.Errorf("shrink the search index: %w", err)
	}
	if err := execute(c, "UPDATE meta SET purge = 0"); err != nil {
		return err
	}
	// The log has the pages as they were. While a search reads it, the next Sync tries again.
	got, err := queryInts(c, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && got[0] != 0 {
		err = execute(c, "UPDATE meta SET purge = ?1", purgeBegun)
	}
	return err
}

// merge merges pages of the parts of the index, and reports whether something is left to merge.
func merge(c *zs.Conn, pages int) (more bool, err error) {
	before, err := queryInts(c, "SELECT total_changes()")
	if err != nil {
		return false, err
	}
	if err := execute(c, "INSERT INTO entry (entry, rank) VALUES ('merge', ?1)", pages); err != nil {
		return false, fmt.Errorf("merge the search index: %w", err)
	}
	after, err := queryInts(c, "SELECT total_changes()")
	return err == nil && after[0]-before[0] >= 2, err // the statement itself is a change (FTS5, section 6.8)
}

// trim removes the documents that were indexed first while the database is larger than its bound.
func (x *Index) trim(ctx context.Context, c *zs.Conn) error {
	size, err := countBytes(c)
	if err != nil || x.MaxBytes == 0 || size <= x.MaxBytes {
		return err
	}
	x.Logger.InfoContext(ctx, "the search index is full; what was indexed first leaves it", "bytes", size)
	return transact(c, func() error {
		if err := removeDocuments(c, "id <= (SELECT min(id) + (max(id) - min(id)) / ?1 FROM document)", trimShare); err != nil {
			return err
		}
		return execute(c, "UPDATE meta SET purge = ?1, trimmed = ?2", purgeWanted, x.MaxBytes)
	})
}

// countBytes returns how many bytes of the database are used.
func countBytes(c *zs.Conn) (int64, error) {
	var numbers []int64
	for _, pragma := range []string{"page_count", "freelist_count", "page_size"} {
		n, err := queryInts(c, "PRAGMA "+pragma)
		if err != nil {
			return 0, err
		}
		numbers = append(numbers, n...)
	}
	return (numbers[0] - numbers[1]) * numbers[2], nil
}
