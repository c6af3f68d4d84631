package acp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// cancelTimeout bounds how long an interrupt may take to be recorded.
const cancelTimeout = 20 * time.Second

// cancel stops the work of a session. It returns before a later message of the client is read: prompts that were sent
// before are marked as cancelled then, and prompts that are sent later wait until the work was stopped. A client that
// gives the notification an id gets an empty result.
func (a *agent) cancel(params jsontext.Value) answerer {
	s, err := a.find(params)
	if err != nil {
		return returnResult(nil, err)
	}
	s.markCancelled()
	// One cancel that has not begun does the work of all that come behind it.
	s.mu.Lock()
	isQueued := s.cancelQueued
	s.cancelQueued = true
	s.mu.Unlock()
	if isQueued {
		return returnResult(nil, nil)
	}
	slot := s.acquireSlot()
	a.following.Go(func() {
		defer slot.release()
		// Its time begins when the cancel before it, which has a time of its own, has ended.
		s.cancelling.Lock()
		defer s.cancelling.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), cancelTimeout)
		defer cancel()
		s.mu.Lock()
		s.cancelQueued = false
		s.mu.Unlock()
		s.stopWork(ctx)
		_ = slot.wait(ctx) // an error ends the wait: the requests behind it have waited long enough
	})
	return returnResult(nil, nil)
}

// markCancelled marks the prompts of this client as cancelled: those that are not admitted yet will not be, or are
// stopped.
func (s *liveSession) markCancelled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prompts {
		p.markCancelled()
	}
}

// markCancelled marks one prompt. The caller holds the session's mu.
func (p *promptWork) markCancelled() {
	if !isClosed(p.cancelled) {
		close(p.cancelled)
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
		_ = s.withdraw(ctx, p)
	}
	s.interrupt(ctx)
}

// stopPrompt stops one prompt of this client: it is withdrawn, or, if it is in the conversation already, the work is
// interrupted. Prompts of this client that wait behind that work go on.
func (s *liveSession) stopPrompt(ctx context.Context, p *promptWork) {
	s.mu.Lock()
	p.markCancelled()
	s.mu.Unlock()
	err := s.withdraw(ctx, p)
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		return // withdrawn, never admitted, or there is no server
	}
	// It was promoted. What was done before this client cancelled it is left alone.
	isOver := true
	_ = s.runInLoop(ctx, func(*follow.Watch) {
		isOver = !slices.ContainsFunc(s.working, p.is)
		for _, other := range s.working {
			other.continues = !isOver && !other.Progress.Begun && !isClosed(other.cancelled)
		}
	})
	if !isOver {
		s.interrupt(ctx)
	}
}

func (s *liveSession) withdraw(ctx context.Context, p *promptWork) error {
	return follow.RepeatUntilAnswered(ctx, func() error { return s.client.Inbox().Withdraw(ctx, s.id, p.Request.ID) })
}

// interrupt stops what the session does. Without a server there is nothing to stop.
func (s *liveSession) interrupt(ctx context.Context) {
	_ = follow.RepeatUntilAnswered(ctx, func() error { return s.client.Interrupt(ctx, s.id) })
}

// isAtWork reports whether the session works, or a prompt of this client waits.
func (s *liveSession) isAtWork(ctx context.Context) (isAtWork bool) {
	// An error says that the session is not followed any more: then there is nothing to stop.
	_ = s.runInLoop(ctx, func(*follow.Watch) { isAtWork = s.state.working || len(s.working) > 0 })
	return isAtWork
}

// awaitIdle returns when the client was told that the session is idle, or ctx ends.
func (s *liveSession) awaitIdle(ctx context.Context) {
	idle := make(chan struct{})
	err := s.runInLoop(ctx, func(*follow.Watch) {
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
