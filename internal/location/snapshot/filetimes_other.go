//go:build !linux

package snapshot

import (
	"io/fs"
	"os"
	"time"
)

// readBirthTime returns when the file was last changed; moving it does not change that.
func readBirthTime(path string) (time.Time, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// changeTime returns 0: the size and the time of the last modification must do.
func changeTime(fs.FileInfo) int64 { return 0 }
