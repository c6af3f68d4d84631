package server

import "sync"

// streamCounter counts the open event streams of each client.
type streamCounter struct {
	mu   sync.Mutex // guards open
	open map[string]int
}

// add counts one more stream unless the client has as many as it may.
func (c *streamCounter) add(client string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[string]int{}
	}
	if c.open[client] >= limit {
		return false
	}
	c.open[client]++
	return true
}

func (c *streamCounter) remove(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[client]--; c.open[client] == 0 {
		delete(c.open, client)
	}
}
