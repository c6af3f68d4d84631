package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/finding"
)

// Examine reads all contents that are kept of files, and says which are damaged. An undo does not use those.
func (b *Blobs) Examine(ctx context.Context) []finding.Finding {
	read, damaged, err := b.ListDamaged(ctx)
	if err != nil {
		return []finding.Finding{{Level: finding.Warning, What: "snapshots", Detail: err.Error()}}
	}
	if len(damaged) > 0 {
		return []finding.Finding{{
			Level: finding.Error, What: "snapshots",
			Detail: fmt.Sprintf("%d of %d contents of files are damaged; cairn undo cannot restore them", len(damaged), read),
			Fix:    "check the disk, and remove the damaged files, such as " + damaged[0],
		}}
	}
	if read == 0 {
		return nil
	}
	return []finding.Finding{{
		Level: finding.OK, What: "snapshots", Detail: fmt.Sprintf("%d contents of files read", read),
	}}
}

// ExamineSize says how much is kept in the folder of the files that calls changed. limit is in bytes.
func ExamineSize(dir string, limit int64) []finding.Finding {
	size := int64(0)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && e.Type().IsRegular() {
			if info, err = e.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		return []finding.Finding{{Level: finding.Warning, What: "snapshots", Detail: err.Error()}}
	}
	return []finding.Finding{{
		Level: finding.OK, What: "snapshots",
		Detail: fmt.Sprintf("%.1f MiB of files as sessions found them, for cairn undo; the limit is %d MiB",
			float64(size)/(1<<20), limit>>20),
	}}
}
