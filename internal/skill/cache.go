package skill

import (
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// Cache finds skills like its Options, and looks anew only when a folder or a SKILL.md does not look as it did. It
// costs a stat for each. Safe for concurrent use.
type Cache struct {
	options Options

	mu    sync.Mutex // guards the rest
	found Set
	seen  fileStates // nil: nothing was found yet
}

// NewCache returns an empty one.
func NewCache(o Options) *Cache { return &Cache{options: o} }

// Find returns what is there now. It is shared: nobody changes it.
func (c *Cache) Find() Set {
	c.mu.Lock()
	found, seen := c.found, c.seen
	c.mu.Unlock()
	if seen.areUnchanged() {
		return found
	}
	found, seen = c.options.findWithStates()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found, c.seen = found, seen
	return found
}

// fileStates is how everything that was looked at looked.
type fileStates []fileState

type fileState struct {
	path string
	info fs.FileInfo // nil: not there
	when time.Time   // it was looked at
}

// settleTime is how old a change must be to be told from a later one: times of files are coarse.
const settleTime = 2 * time.Second

func (s *fileStates) addPath(path string) {
	now := time.Now()
	info, _ := os.Stat(path) // nil: not there
	*s = append(*s, fileState{path, info, now})
}

// areUnchanged reports whether everything looks as it did.
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
