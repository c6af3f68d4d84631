package ask

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// waiters are the askers of this process that wait for replies. The asks themselves are rows; a waiter is only woken.
type waiters struct {
	mu      sync.Mutex // guards both
	m       map[session.AskID]*waiter
	arrival map[session.AskID]chan struct{} // closed when a waiter for the ask arrives
}

// waiter waits for the reply to one ask.
type waiter struct {
	ask     session.PendingAsk
	layers  []permission.Layer
	subject permission.Subject // what rules decide about
	person  bool               // see tool.Request
	record  session.RecordID
	holder  session.ID        // whose own approvals apply; "" for none
	reply   chan store.AskRow // capacity 1: an ask has one reply
}

func (ws *waiters) add(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.m == nil {
		ws.m = map[session.AskID]*waiter{}
	}
	ws.m[w.ask.ID] = w
	if c := ws.arrival[w.ask.ID]; c != nil {
		close(c)
		delete(ws.arrival, w.ask.ID)
	}
}

// get returns the waiter for the ask, nil if none waits in this process.
func (ws *waiters) get(id session.AskID) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.m[id]
}

func (ws *waiters) remove(id session.AskID) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.m, id)
}

// expectArrival returns a channel that is closed when a waiter for the ask arrives, nil if there is one already. Call
// cancelArrival if it is not awaited to its end.
func (ws *waiters) expectArrival(id session.AskID) <-chan struct{} {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.m[id] != nil {
		return nil
	}
	if ws.arrival == nil {
		ws.arrival = map[session.AskID]chan struct{}{}
	}
	if ws.arrival[id] == nil {
		ws.arrival[id] = make(chan struct{})
	}
	return ws.arrival[id]
}

// isExpected reports whether a reply waits for a waiter for the ask.
func (ws *waiters) isExpected(id session.AskID) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.arrival[id] != nil
}

func (ws *waiters) cancelArrival(id session.AskID) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.arrival, id)
}

// wake delivers the answered ask to its waiter, if it has one.
func (ws *waiters) wake(row store.AskRow) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.m[row.ID]; w != nil {
		delete(ws.m, row.ID)
		w.reply <- row
	}
}

// count returns the number of waiters of the session.
func (ws *waiters) count(id session.ID) (n int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.m {
		if w.ask.SessionID == id {
			n++
		}
	}
	return n
}

// listOthers returns the other waiters of the record's project, oldest first.
func (ws *waiters) listOthers(record session.RecordID, except session.AskID) []*waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var others []*waiter
	for id, w := range ws.m {
		if id != except && w.record == record {
			others = append(others, w)
		}
	}
	slices.SortFunc(others, func(a, b *waiter) int { return cmp.Compare(a.ask.ID, b.ask.ID) })
	return others
}
