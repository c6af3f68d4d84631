package broadcast

import "sync"

// Bounds are the bounds of a Cache.
type Bounds struct{ Entries, Bytes int }

// RecentCache keeps the newest values, up to its bounds. It is safe for concurrent use.
type RecentCache[K comparable, V any] struct {
	bounds Bounds
	size   func(V) int

	mu     sync.Mutex // guards the fields below
	values map[K]V
	order  []K // oldest first
	bytes  int
}

// NewRecentCache returns an empty cache. size returns the bytes of a value.
func NewRecentCache[K comparable, V any](b Bounds, size func(V) int) *RecentCache[K, V] {
	return &RecentCache[K, V]{bounds: b, size: size, values: map[K]V{}}
}

// Get returns the value of a key.
func (c *RecentCache[K, V]) Get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[k]
	return v, ok
}

// Add adds a value, unless its key is present, and evicts the oldest values beyond the bounds.
func (c *RecentCache[K, V]) Add(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.values[k]; ok {
		return
	}
	c.values[k] = v
	c.order = append(c.order, k)
	c.bytes += c.size(v)
	for len(c.order) > c.bounds.Entries || c.bytes > c.bounds.Bytes {
		c.bytes -= c.size(c.values[c.order[0]])
		delete(c.values, c.order[0])
		c.order = c.order[1:]
	}
}

// Reset empties the cache.
func (c *RecentCache[K, V]) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.values)
	c.order, c.bytes = nil, 0
}
