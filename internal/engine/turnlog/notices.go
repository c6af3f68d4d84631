package turnlog

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// progressInterval is the least time between two notices of a running call.
const progressInterval = 250 * time.Millisecond

// OutputNotices shows the output of a running call to live readers, at most once per progressInterval. It stores nothing.
type OutputNotices struct {
	journal *Journal
	call    session.ToolProgress // names the call

	mu      sync.Mutex // guards the rest
	last    time.Time
	pending *tool.Output // came too soon after the last notice
}

// NewOutputNotices returns the notices of the session's call that the ids of call name.
func (j *Journal) NewOutputNotices(id session.ID, call session.ToolProgress) *OutputNotices {
	call.SessionID = id
	return &OutputNotices{journal: j, call: call}
}

// Show sends the output so far. If the last notice is too recent, it holds the output until the interval is over or
// Flush is called.
func (p *OutputNotices) Show(o tool.Output) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.journal.Now()
	if wait := progressInterval - now.Sub(p.last); wait > 0 {
		if p.pending == nil {
			time.AfterFunc(wait, p.Flush)
		}
		p.pending = &o
		return
	}
	p.last, p.pending = now, nil
	p.notify(o)
}

// Flush sends the output that Show held last.
func (p *OutputNotices) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending != nil {
		p.last = p.journal.Now()
		p.notify(*p.pending)
		p.pending = nil
	}
}

func (p *OutputNotices) notify(o tool.Output) {
	fact := p.call
	fact.Timestamp = p.journal.Now().UnixMilli()
	fact.Structured, fact.Content, fact.Title = o.Structured, o.Content, o.Title
	if len(fact.Structured) == 0 {
		fact.Structured = jsontext.Value(`{}`)
	}
	p.journal.Notify(string(session.KindToolProgress), fact.SessionID, &fact)
}
