package admit

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// An event holds messages up to maxMessages or maxBytes, but at least one.
const (
	maxMessages = 64
	maxBytes    = 64 << 10
)

// chunk is the event of copied messages that follow one another.
type chunk struct {
	source []sourceMessage
	event  session.EventData
	err    error         // why there is no event
	done   chan struct{} // closed when event and err are set
}

// newChunks divides the messages of the source.
func newChunks(ms []sourceMessage) (out []*chunk) {
	for len(ms) > 0 {
		n, bytes := 0, 0
		for n < min(len(ms), maxMessages) && (n == 0 || bytes+len(ms[n].row.Data) <= maxBytes) {
			bytes += len(ms[n].row.Data)
			n++
		}
		out = append(out, &chunk{source: ms[:n], done: make(chan struct{})})
		ms = ms[n:]
	}
	return out
}

// copyMessages returns drafts of the events that append the copies. Another goroutine makes the events, so that the
// store writes the first ones meanwhile; wait waits for its end.
func (c *copier) copyMessages(ms []sourceMessage) (drafts []eventlog.Draft, wait func()) {
	chunks := newChunks(ms)
	drafts = make([]eventlog.Draft, len(chunks))
	for i, k := range chunks {
		drafts[i].Await = func() (session.EventData, error) {
			<-k.done
			return k.event, k.err
		}
	}
	var running sync.WaitGroup
	running.Go(func() {
		first, err := int64(1), error(nil)
		for _, k := range chunks {
			if err == nil {
				k.event, err = c.copyChunk(first, k.source)
			}
			first += int64(len(k.source))
			k.err = err
			close(k.done)
		}
	})
	return drafts, running.Wait
}

// copyChunk returns the event that appends the copies of ms, the first of which has the seq first.
func (c *copier) copyChunk(first int64, ms []sourceMessage) (session.EventData, error) {
	copies, stored := make([]session.Message, len(ms)), make([]jsontext.Value, len(ms))
	for i := range ms {
		m, err := ms[i].row.Message()
		if err != nil {
			return nil, err
		}
		if a, isTurn := m.(*session.Assistant); isTurn {
			cutTurn(a, ms[i].cut)
		}
		c.renameIDs(m)
		if stored[i], err = session.EncodeMessage(m); err != nil {
			return nil, err
		}
		copies[i] = m
	}
	return session.NewMessagesCopied(first, copies, stored), nil
}
