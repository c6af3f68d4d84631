//go:build !linux

package snapshot

import (
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
