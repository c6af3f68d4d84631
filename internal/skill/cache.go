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
	found Found
	seen  stamps // nil: nothing was found yet
}

// NewCache returns an empty one.
func NewCache(o Options) *Cache { return &Cache{options: o} }

// Find returns what is there now. It is shared: nobody changes it.
func (c *Cache) Find() Found {
	c.mu.Lock()
	found, seen := c.found, c.seen
	c.mu.Unlock()
	if seen.fresh() {
		return found
	}
	found, seen = c.options.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found, c.seen = found, seen
	return found
}

// stamps is how everything that was looked at looked.
type stamps []stamp

type stamp struct {
	path string
	info fs.FileInfo // nil: not there
	when time.Time   // it was looked at
}

// settleTime is how old a change must be to be told from a later one: times of files are coarse.
const settleTime = 2 * time.Second

func (s *stamps) add(path string) {
	now := time.Now()
	info, _ := os.Stat(path) // nil: not there
	*s = append(*s, stamp{path, info, now})
}

// fresh reports whether everything looks as it did.
func (s stamps) fresh() bool {
	return s != nil && !slices.ContainsFunc(s, func(s stamp) bool { return !s.same() })
}

func (s stamp) same() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime()) &&
		s.when.Sub(s.info.ModTime()) > settleTime
}
