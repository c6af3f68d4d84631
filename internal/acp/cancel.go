package acp

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/follow"
)

// cancelTimeout bounds how long an interrupt may take to be recorded.
const cancelTimeout = 20 * time.Second

// cancel stops the work of a session. It returns before a later message of the client is read: prompts that were sent
// before are marked as cancelled then, and prompts that are sent later wait until the work was stopped.
func (a *agent) cancel(params jsontext.Value) {
	s, err := a.find(params)
	if err != nil { // a notification has no answer
		return
	}
	s.markCancelled()
	// One cancel that has not begun does the work of all that come behind it.
	s.mu.Lock()
	isQueued := s.cancelQueued
	s.cancelQueued = true
	s.mu.Unlock()
	if isQueued {
		return
	}
	place := s.takePlace()
	a.following.Go(func() {
		defer place.pass()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), cancelTimeout)
		defer cancel()
		s.cancelling.Lock()
		defer s.cancelling.Unlock()
		s.mu.Lock()
		s.cancelQueued = false
		s.mu.Unlock()
		s.stopWork(ctx)
		_ = place.wait(ctx) // then the order does not matter any more
	})
}

// markCancelled marks the prompts of this client as cancelled: those that are not admitted yet will not be, or are stopped.
func (s *liveSession) markCancelled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prompts {
		if !isClosed(p.cancelled) {
			close(p.cancelled)
		}
	}
}

// stopWork withdraws the prompts of this client that wait, and stops what the session does, also for other clients.
func (s *liveSession) stopWork(ctx context.Context) {
	s.mu.Lock()
	var waiting []*promptWork
	for _, p := range s.prompts {
		if p.isAdmitted && isClosed(p.cancelled) && !isClosed(p.begun) {
			waiting = append(waiting, p)
		}
	}
	s.mu.Unlock()
	// An error says that the prompt was promoted meanwhile, or that there is no server: then the work goes on.
	for _, p := range waiting {
		_ = follow.RepeatUntilAnswered(ctx, func() error { return s.client.Inbox().Withdraw(ctx, s.id, p.Request.ID) })
	}
	_ = follow.RepeatUntilAnswered(ctx, func() error { return s.client.Interrupt(ctx, s.id) })
}

// closeSession stops the work of a session and ends to follow it. The client has the end of the work before the answer.
func (a *agent) closeSession(ctx context.Context, params jsontext.Value) (any, error) {
	s, err := a.find(params)
	if e, ok := errors.AsType[*rpcError](err); ok && e.Code == codeNotFound {
		return struct{}{}, nil
	}
	if err != nil {
		return nil, err
	}
	stopping, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	s.markCancelled()
	if s.isAtWork(stopping) {
		s.stopWork(stopping)
		s.awaitIdle(stopping)
	}
	a.close(s.id)
	return struct{}{}, nil
}

// isAtWork reports whether the session works, or a prompt of this client waits.
func (s *liveSession) isAtWork(ctx context.Context) (isAtWork bool) {
	_ = s.do(ctx, func(*follow.Watch) { isAtWork = s.state.working || len(s.working) > 0 }) // closed: nothing to stop
	return isAtWork
}

// awaitIdle returns when the client was told that the session is idle, or ctx ends.
func (s *liveSession) awaitIdle(ctx context.Context) {
	idle := make(chan struct{})
	err := s.do(ctx, func(*follow.Watch) {
		s.idleWaiters = append(s.idleWaiters, idle)
		s.releaseWaiters()
	})
	if err != nil {
		return
	}
	select {
	case <-idle:
	case <-s.done:
	case <-ctx.Done():
	}
}

// releaseWaiters lets those go on who wait for the end of work.
func (s *liveSession) releaseWaiters() {
	if s.state.working || len(s.working) > 0 {
		return
	}
	for _, w := range s.idleWaiters {
		close(w)
	}
	s.idleWaiters = nil
}

// place is the place of a request among those of a session that change it: they take effect in the order of the messages,
// although each is answered in a goroutine of its own.
type place struct {
	before, mine chan struct{} // before is nil for the first
}

// takePlace takes the next place.
func (s *liveSession) takePlace() place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := place{s.lastPlace, make(chan struct{})}
	s.lastPlace = p.mine
	return p
}

// wait returns when the requests before have taken effect, or ctx ends.
func (p place) wait(ctx context.Context) error {
	if p.before == nil {
		return nil
	}
	select {
	case <-p.before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass lets the next request begin.
func (p place) pass() { close(p.mine) }
