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
	turn *turn
	call *call

	mu      sync.Mutex // guards the rest
	last    time.Time
	waiting *tool.Output
}

func (t *turn) live(c *call) *live { return &live{turn: t, call: c} }

func (l *live) show(o tool.Output) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.turn.now()
	if now.Sub(l.last) < progressEvery {
		l.waiting = &o
		return
	}
	l.last, l.waiting = now, nil
	l.turn.shown(l.call, o)
}

func (l *live) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != nil {
		l.turn.shown(l.call, *l.waiting)
		l.waiting = nil
	}
}

func (t *turn) shown(c *call, o tool.Output) {
	structured := o.Structured
	if len(structured) == 0 {
		structured = jsontext.Value(`{}`)
	}
	t.notify(string(session.KindToolProgress), t.id, &session.ToolProgress{
		Fact:               session.Fact{Timestamp: t.now().UnixMilli(), SessionID: t.id},
		AssistantMessageID: t.message, CallID: c.id, PartID: c.part, Structured: structured, Content: o.Content, Title: o.Title,
	})
}
