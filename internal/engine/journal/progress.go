package journal

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// progressInterval is the least time between two notices of a running call.
const progressInterval = 250 * time.Millisecond

// Call names a running tool call.
type Call struct {
	MessageID session.MessageID
	ID        string
	PartID    session.PartID
}

// Progress shows the output of a running call to live readers, at most once per progressInterval. It stores nothing.
type Progress struct {
	journal *Journal
	session session.ID
	call    Call

	mu      sync.Mutex // guards the rest
	last    time.Time
	pending *tool.Output // came too soon after the last notice
}

// NewProgress returns the progress of a call.
func (j *Journal) NewProgress(id session.ID, c Call) *Progress {
	return &Progress{journal: j, session: id, call: c}
}

// Show sends the output so far, or holds it for Flush if the last notice is too recent.
func (p *Progress) Show(o tool.Output) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.journal.Now()
	if now.Sub(p.last) < progressInterval {
		p.pending = &o
		return
	}
	p.last, p.pending = now, nil
	p.notify(o)
}

// Flush sends the output that Show held last.
func (p *Progress) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending != nil {
		p.notify(*p.pending)
		p.pending = nil
	}
}

func (p *Progress) notify(o tool.Output) {
	structured := o.Structured
	if len(structured) == 0 {
		structured = jsontext.Value(`{}`)
	}
	now := p.journal.Now().UnixMilli()
	p.journal.Notify(string(session.KindToolProgress), p.session, &session.ToolProgress{
		TurnFact: session.TurnFact{
			Fact: session.Fact{Timestamp: now, SessionID: p.session}, AssistantMessageID: p.call.MessageID,
		},
		CallID: p.call.ID, PartID: p.call.PartID, Structured: structured, Content: o.Content, Title: o.Title,
	})
}
