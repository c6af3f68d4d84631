package engine

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// askDesk is where calls wait for replies. The asks themselves are rows; the desk only wakes those who wait here.
type askDesk struct {
	mu       sync.Mutex // guards both
	waiting  map[session.AskID]*waitingAsk
	expected map[session.AskID]chan struct{} // closed when somebody comes to wait
}

type waitingAsk struct {
	ask     session.PendingAsk
	call    *call // that asks; nil if the engine itself does
	layers  []permission.Layer
	seen    permission.Seen
	project session.ProjectID
	reply   chan store.AskRow // capacity 1: a reply is made once
}

// subject is what the ask is decided about.
func (w *waitingAsk) subject() permission.Subject {
	return permission.Subject{Action: w.ask.Action, Resources: w.ask.Resources, Seen: w.seen}
}

func (d *askDesk) enter(w *waitingAsk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[session.AskID]*waitingAsk{}
	}
	d.waiting[w.ask.ID] = w
	if c := d.expected[w.ask.ID]; c != nil {
		close(c)
		delete(d.expected, w.ask.ID)
	}
}

// expect returns a channel that is closed when somebody waits for the ask, nil if somebody does already.
func (d *askDesk) expect(id session.AskID) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting[id] != nil {
		return nil
	}
	if d.expected == nil {
		d.expected = map[session.AskID]chan struct{}{}
	}
	if d.expected[id] == nil {
		d.expected[id] = make(chan struct{})
	}
	return d.expected[id]
}

// forget ends what expect began.
func (d *askDesk) forget(id session.AskID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.expected, id)
}

func (d *askDesk) leave(id session.AskID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, id)
}

func (d *askDesk) wake(row store.AskRow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.waiting[row.ID]; w != nil {
		delete(d.waiting, row.ID)
		w.reply <- row
	}
}

// of counts the asks of the session that nobody has answered.
func (d *askDesk) of(id session.ID) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting {
		if w.ask.SessionID == id {
			n++
		}
	}
	return n
}

// others returns who else waits in the project, the oldest first.
func (d *askDesk) others(project session.ProjectID, not session.AskID) []*waitingAsk {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ws []*waitingAsk
	for id, w := range d.waiting {
		if id != not && w.project == project {
			ws = append(ws, w)
		}
	}
	slices.SortFunc(ws, func(a, b *waitingAsk) int { return cmp.Compare(a.ask.ID, b.ask.ID) })
	return ws
}
