package eventlog

// WatchCommits returns a channel that receives after events of any session were committed by this process, until stop
// is called. Wake-ups coalesce and never block an append: the receiver reads what is new from the store.
func (l *Log) WatchCommits() (wake <-chan struct{}, stop func()) {
	w := newWaiter()
	l.hub.joinCommits(w)
	return w.wake, func() { l.hub.leaveCommits(w) }
}

func (h *hub) joinCommits(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commits[w] = struct{}{}
}

func (h *hub) leaveCommits(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.commits, w)
}
