package fork

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// chunkSize is how many messages are copied before the store gets the first of them.
const chunkSize = 32

// chunk is a part of the copied messages.
type chunk struct {
	events []session.EventData
	err    error         // why the messages after those of events are not copied
	done   chan struct{} // closed when events and err are complete
}

// copyMessages returns drafts of the events that append the copies. Another goroutine makes the events, so that the
// store writes the first ones meanwhile; wait waits for its end.
func (c *copier) copyMessages(ms []sourceMessage) (drafts []eventlog.Draft, wait func()) {
	drafts = make([]eventlog.Draft, len(ms))
	var chunks []*chunk
	for i := range ms {
		if i%chunkSize == 0 {
			chunks = append(chunks, &chunk{done: make(chan struct{})})
		}
		k, at := chunks[len(chunks)-1], i%chunkSize
		drafts[i].Await = func() (session.EventData, error) {
			<-k.done
			if at >= len(k.events) {
				return nil, k.err
			}
			return k.events[at], nil
		}
	}
	var running sync.WaitGroup
	running.Go(func() {
		var err error
		for _, k := range chunks {
			n := min(chunkSize, len(ms))
			if err == nil {
				k.events, err = c.copyChunk(ms[:n])
			}
			k.err, ms = err, ms[n:]
			close(k.done)
		}
	})
	return drafts, running.Wait
}

// copyChunk returns the events that append the copies of ms, those before the first that fails.
func (c *copier) copyChunk(ms []sourceMessage) ([]session.EventData, error) {
	out := make([]session.EventData, 0, len(ms))
	for i := range ms {
		m, err := ms[i].row.Message()
		if err != nil {
			return out, err
		}
		if a, isTurn := m.(*session.Assistant); isTurn {
			cutTurn(a, ms[i].cut)
		}
		created := m.Meta().Time.Created
		c.renameIDs(m)
		raw, err := session.EncodeMessage(m)
		if err != nil {
			return out, err
		}
		out = append(out, session.NewMessageImported(m, raw, created))
	}
	return out, nil
}
