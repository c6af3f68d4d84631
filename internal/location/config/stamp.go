package config

import (
	"io/fs"
	"os"
)

// stamp records the state of a file when it was read, or that it was missing.
type stamp struct {
	path string
	info fs.FileInfo // nil: missing
}

// isUnchanged reports whether the file is as it was.
func (s stamp) isUnchanged() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime())
}
