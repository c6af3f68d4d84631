package v2

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// recent keeps the frames of the newest events, so that those who follow a session share one copy of each: the readers
// that stall with a large frame half sent cost nothing for it, and a thousand that keep up cost one encoding.
type recent struct {
	mu    sync.Mutex // guards the rest
	m     map[session.EventID][]byte
	order []session.EventID // oldest first
	bytes int
}

// What is kept.
const (
	keptFrames = 256
	keptBytes  = 8 << 20
)

// frame returns the frame's bytes, which nobody may change.
func (c *recent) frame(e *session.Event) ([]byte, error) {
	k := e.ID
	c.mu.Lock()
	b, ok := c.m[k]
	c.mu.Unlock()
	if ok {
		return b, nil
	}
	f, err := eventFrame(e)
	if err != nil {
		return nil, err
	}
	f = f.fit()
	b = f.append(make([]byte, 0, len(f.data)+256))
	c.keep(k, b)
	return b, nil
}

func (c *recent) keep(k session.EventID, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[session.EventID][]byte{}
	}
	if _, ok := c.m[k]; ok {
		return
	}
	c.m[k] = b
	c.order = append(c.order, k)
	c.bytes += len(b)
	for len(c.order) > keptFrames || c.bytes > keptBytes {
		c.bytes -= len(c.m[c.order[0]])
		delete(c.m, c.order[0])
		c.order = c.order[1:]
	}
}
