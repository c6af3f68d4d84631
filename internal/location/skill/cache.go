package skill

import "sync"

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
func (c *Cache) Find() Set { return c.options.addRemote(c.findLocal()) }

func (c *Cache) findLocal() Set {
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
