package engine

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// progressEvery is the least time between two live looks at a running call (spec/guarantees G24).
const progressEvery = 250 * time.Millisecond

// live shows a running call to live readers, not too often, and records nothing. What came too fast is shown when the
// call has ended, as far as nothing newer was.
type live struct {
	now  func() time.Time
	tell func(tool.Output)

	mu      sync.Mutex // guards the rest
	last    time.Time
	waiting *tool.Output
}

func (t *turn) live(c *call) *live {
	return &live{now: t.now, tell: func(o tool.Output) { t.running(t.id, running{t.message, c.id, c.part}, o) }}
}

func (l *live) show(o tool.Output) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if now.Sub(l.last) < progressEvery {
		l.waiting = &o
		return
	}
	l.last, l.waiting = now, nil
	l.tell(o)
}

func (l *live) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != nil {
		l.tell(*l.waiting)
		l.waiting = nil
	}
}

// running names a call that runs.
type running struct {
	message session.MessageID
	call    string
	part    session.PartID
}

func (e *Engine) running(id session.ID, c running, o tool.Output) {
	structured := o.Structured
	if len(structured) == 0 {
		structured = jsontext.Value(`{}`)
	}
	e.notify(string(session.KindToolProgress), id, &session.ToolProgress{
		TurnFact: session.TurnFact{Fact: session.Fact{Timestamp: e.now().UnixMilli(), SessionID: id}, AssistantMessageID: c.message}, CallID: c.call, PartID: c.part, Structured: structured, Content: o.Content, Title: o.Title,
	})
}
