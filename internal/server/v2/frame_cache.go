package v2

import (
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/session"
)

// frameCache shares the encoded frames of the newest events among the readers of a session: a thousand readers cost one
// encoding, and readers that stall with a large frame cost no memory for it.
type frameCache struct {
	frames *broadcast.RecentCache[session.EventID, []byte]
}

func newFrameCache() *frameCache {
	return &frameCache{broadcast.NewRecentCache[session.EventID](
		broadcast.Bounds{Entries: 256, Bytes: 8 << 20}, func(b []byte) int { return len(b) },
	)}
}

// encode returns the bytes of an event's frame, which must not be changed.
func (c *frameCache) encode(e *session.Event) ([]byte, error) {
	if b, ok := c.frames.Get(e.ID); ok {
		return b, nil
	}
	f, err := newEventFrame(e)
	if err != nil {
		return nil, err
	}
	f = f.fitFrame()
	b := f.append(make([]byte, 0, len(f.data)+256))
	c.frames.Add(e.ID, b)
	return b, nil
}
