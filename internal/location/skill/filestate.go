package skill

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// fileStates is the state of all files and folders that a search read.
type fileStates []fileState

type fileState struct {
	path string
	info fs.FileInfo // nil if it did not exist
	when time.Time   // of the stat
}

// settleTime is the age from which a file time is reliable: a second change within the resolution of file times would
// not be seen.
const settleTime = 2 * time.Second

func (s *fileStates) addPath(path string) {
	now := time.Now()
	info, _ := os.Stat(path) // nil if it does not exist
	*s = append(*s, fileState{path, info, now})
}

// areUnchanged reports whether all files are as they were.
func (s fileStates) areUnchanged() bool {
	return s != nil && !slices.ContainsFunc(s, func(s fileState) bool { return !s.isUnchanged() })
}

func (s fileState) isUnchanged() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime()) &&
		s.when.Sub(s.info.ModTime()) > settleTime
}
