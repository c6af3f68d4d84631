package skill

import (
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// Cache finds skills like its Options, and searches again only after a folder or a SKILL.md changed. Each Find costs
// one stat for each of them. Safe for concurrent use.
type Cache struct {
	options Options

	mu    sync.Mutex // guards the rest
	found Set
	seen  fileStates // nil before the first search
}

// NewCache returns an empty Cache.
func NewCache(o Options) *Cache { return &Cache{options: o} }

// Find returns the current skills. Callers must not change the result.
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
