package searchindex

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"
)

// trimShare is the share of the texts that leave an index that is too large.
const trimShare = 10

// purge keeps the database within its bound, and overwrites the words of texts that were removed: FTS5 keeps them until it
// merges their parts of the index.
func (x *Index) purge(ctx context.Context) error {
	size, err := x.countBytes()
	if err != nil {
		return err
	}
	if x.MaxBytes > 0 && size > x.MaxBytes {
		x.Logger.InfoContext(ctx, "the search index is full; what was indexed first leaves it", "bytes", size)
		if err := x.trim(); err != nil {
			return err
		}
	}
	if !x.removed {
		return nil
	}
	if err := execute(x.writer, "INSERT INTO entry (entry) VALUES ('optimize')"); err != nil {
		return fmt.Errorf("merge the search index: %w", err)
	}
	if err := execute(x.writer, "PRAGMA incremental_vacuum"); err != nil {
		return fmt.Errorf("shrink the search index: %w", err)
	}
	// The log has the pages as they were.
	if err := execute(x.writer, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("shrink the search index: %w", err)
	}
	x.removed = false
	return nil
}

// trim removes the texts that were indexed first.
func (x *Index) trim() error {
	return transact(x.writer, func() error {
		return x.removeTexts("id <= (SELECT min(id) + (max(id) - min(id)) / ?1 FROM text)", trimShare)
	})
}

// countBytes returns how many bytes of the database are used.
func (x *Index) countBytes() (int64, error) {
	var numbers [3]int64
	for i, pragma := range []string{"page_count", "freelist_count", "page_size"} {
		n, err := sqlitex.ResultInt64(x.writer.Prep("PRAGMA " + pragma))
		if err != nil {
			return 0, err
		}
		numbers[i] = n
	}
	return (numbers[0] - numbers[1]) * numbers[2], nil
}
