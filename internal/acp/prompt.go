package acp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// promptWork is a prompt of this client until the work on it is over. It is registered in the order of the messages,
// then admitted by the server, and then begun: in the conversation. A cancel finds it in each of these states.
//
// Only the goroutine that follows the session uses the embedded Work, isExpected and continues, with one exception: the
// Request is set before, and does not change.
type promptWork struct {
	follow.Work
	cancelled  chan struct{}     // closed when the client cancels it; closed under the session's mu
	isAdmitted bool              // guarded by the session's mu
	isExpected bool              // it was admitted: an idle session has done its work
	continues  bool              // it goes on when the work before it, which is being interrupted, has ended
	begun      chan struct{}     // closed when it is in the conversation, or its work is over
	isBegun    bool              // it is in the conversation; to be read when begun is closed
	done       chan promptResult // capacity 1
}

// promptResult is how the work came out.
type promptResult struct {
	stop stopReason
	err  error
}

var (
	// errNotOpen is the error of work that ends because its session is closed.
	errNotOpen = errors.New("the session was closed")
	// errNotBegun is the error of a prompt that was cancelled before it was in the conversation.
	errNotBegun = rpcErrorf(codeCancelled, "the prompt was cancelled before the model saw it")
)

// admitGrace is how long a prompt may take to be admitted when the client has gone.
const admitGrace = 5 * time.Second

// prompt begins a prompt. It returns before a later message of the client is read, so that a cancel finds the prompt.
func (a *agent) prompt(params jsontext.Value) answerer {
	// Check the request.
	var r v2.PromptRequest
	err := decodeParams(params, &r)
	var s *liveSession
	if err == nil {
		s, err = a.find(params)
	}
	if err == nil && len(r.Prompt) == 0 {
		err = rpcErrorf(codeInvalidParams, "the prompt is empty")
	}
	if err != nil {
		return returnResult(nil, err)
	}
	// Register the prompt, and take its slot in the order.
	p := &promptWork{cancelled: make(chan struct{}), begun: make(chan struct{}), done: make(chan promptResult, 1)}
	p.Client, p.ID = s.client, s.id
	p.Request = api.PromptRequest{ID: session.MessageID(a.ids.New(session.PrefixMessage)), Delivery: session.Steer}
	s.register(p)
	slot := s.acquireSlot()
	// The rest is done beside other requests: have it admitted, and wait as long as the version of the protocol says.
	return func(ctx context.Context) (any, error) {
		err := s.begin(ctx, p, r.Prompt, slot)
		slot.release()
		answersAtOnce := a.currentDialect().answersAtOnce()
		switch {
		case err != nil:
			s.forget(p)
			if errors.Is(err, errNotBegun) && !answersAtOnce {
				return map[string]stopReason{"stopReason": stopCancelled}, nil
			}
			return nil, err
		case answersAtOnce:
			return s.awaitBegin(ctx, p)
		default:
			return s.awaitEnd(ctx, p)
		}
	}
}

// begin has the prompt admitted, and its work followed. It is followed first, because it may be in the conversation
// before the server has answered.
func (s *liveSession) begin(ctx context.Context, p *promptWork, content []v2.ContentBlock, slot orderSlot) error {
	// What comes before the prompt is sent ends with a cancel.
	preparing, stop := withCancel(ctx, p.cancelled, errNotBegun)
	err := slot.wait(preparing)
	if err == nil {
		p.Request.Prompt, err = s.newPrompt(preparing, content)
	}
	if err = cmpCause(preparing, err); err != nil {
		stop()
		return err
	}
	stop()
	// Follow it, and send it. The client may go meanwhile, but it is not to be unknown whether the prompt was taken.
	err = s.runInLoop(ctx, func(*follow.Watch) {
		p.Progress = follow.NewProgress(p.Request.ID, s.seq)
		s.working = append(s.working, p)
	})
	if err != nil {
		return err
	}
	sending, stop := withGrace(ctx, admitGrace)
	defer stop()
	err = follow.RepeatUntilAnswered(sending, func() error {
		_, err := s.client.Prompt(sending, s.id, p.Request)
		return err
	})
	if err != nil {
		// The client that is still there must not get an error for a prompt that is worked on.
		isUnknown := sending.Err() != nil || follow.IsConnectionLost(err)
		if isUnknown && !errors.Is(context.Cause(ctx), errClosed) {
			s.stopUnknown(ctx, p)
		}
		// An error says that nothing follows the session any more.
		_ = s.runInLoop(context.WithoutCancel(ctx), func(*follow.Watch) { s.working = slices.DeleteFunc(s.working, p.is) })
		return err
	}
	// From now on a cancel stops it; one that came before did not.
	s.mu.Lock()
	p.isAdmitted = true
	isCancelled := isClosed(p.cancelled)
	s.mu.Unlock()
	if isCancelled {
		s.stopWork(sending)
	}
	// A request that was cancelled meanwhile finds it at work, and stops it (abandon).
	return s.runInLoop(sending, func(w *follow.Watch) {
		p.isExpected = true
		w.ExpectIdle()
	})
}

func (p *promptWork) is(other *promptWork) bool { return p == other }

// cmpCause returns the cause with which ctx has ended, else err.
func cmpCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// withCancel returns a context that also ends, with the cause, when the channel is closed.
func withCancel(ctx context.Context, closed <-chan struct{}, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-closed:
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// withGrace returns a context that ends a while after ctx does.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-out.Done():
		}
	})
	return out, func() {
		stop()
		cancel(context.Canceled)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitBegin returns the result of session/prompt in version 2, when the prompt is in the conversation.
func (s *liveSession) awaitBegin(ctx context.Context, p *promptWork) (any, error) {
	select {
	case <-p.begun:
		if p.isBegun {
			return v2.PromptResponse{MessageID: string(p.Request.ID)}, nil
		}
		if r := <-p.done; r.err != nil {
			return nil, r.err
		}
		return nil, errNotBegun
	case <-ctx.Done():
		return nil, s.abandon(ctx, p)
	}
}

// awaitEnd returns the result of session/prompt in version 1, when the work is over.
func (s *liveSession) awaitEnd(ctx context.Context, p *promptWork) (any, error) {
	select {
	case r := <-p.done:
		if r.err != nil {
			return nil, r.err
		}
		return map[string]stopReason{"stopReason": r.stop}, nil
	case <-ctx.Done():
		return nil, s.abandon(ctx, p)
	}
}

// abandon returns why the request of a prompt has ended. The client that cancels it stops its work, and one that has
// gone does not.
func (s *liveSession) abandon(ctx context.Context, p *promptWork) error {
	if errors.Is(context.Cause(ctx), errCancelled) {
		s.stopUnknown(ctx, p)
	}
	return context.Cause(ctx)
}

// stopUnknown stops a prompt whose request has ended, wherever it is by now: the context of the request may have ended.
func (s *liveSession) stopUnknown(ctx context.Context, p *promptWork) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	s.stopPrompt(stopping, p)
}

// register notes a prompt of this client.
func (s *liveSession) register(p *promptWork) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts = append(s.prompts, p)
}

// forget drops a prompt whose work is over, or which was not admitted.
func (s *liveSession) forget(p *promptWork) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts = slices.DeleteFunc(s.prompts, p.is)
}

// isOwn reports whether this client has sent the prompt.
func (s *liveSession) isOwn(id session.MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.prompts, func(p *promptWork) bool { return p.Request.ID == id })
}

// settlePrompts applies an update to the prompts of this client, and answers those whose work is over. It returns how
// that came out. Only the goroutine that follows the session calls it, as endPrompts.
func (s *liveSession) settlePrompts(ctx context.Context, w *follow.Watch, u follow.Update) (over []promptResult) {
	left := s.working[:0:0]
	for _, p := range s.working {
		isOver, err := p.apply(w, u)
		if p.Progress.Begun && !p.isBegun {
			p.isBegun = true
			close(p.begun)
		}
		if !isOver && err == nil {
			left = append(left, p)
			continue
		}
		r := p.result(err)
		over = append(over, r)
		s.end(p, r)
	}
	s.working = left
	return over
}

// apply applies an update to the work and reports whether that is over.
func (p *promptWork) apply(w *follow.Watch, u follow.Update) (bool, error) {
	switch {
	case u.Event != nil:
		p.Progress.Apply(*u.Event)
	case u.Task != nil && p.Progress.IsUnderWay():
		p.Progress.ApplyAsk(u.Task.Data)
	case !p.isExpected: // it is still being sent
		return false, nil
	case u.Idle && isClosed(p.cancelled): // also if its process ended before it could be stopped
		return true, nil
	case u.Idle && p.continues && !p.Progress.Begun:
		p.continues = false
		err := p.Resume(w)
		return err != nil, err
	case u.Idle && p.IsDone():
		return true, nil
	case u.Found: // the process that worked may have ended
		w.ExpectIdle()
	case u.Failed != nil && u.Failed.Prompt == p.Request.ID:
		return true, u.Failed.Err
	case u.Idle:
		if err := p.Resume(w); err != nil {
			return true, err
		}
	}
	return p.isExpected && (p.Progress.Over || p.Progress.Withdrawn), nil
}

// result returns how the work came out.
func (p *promptWork) result(err error) promptResult {
	switch {
	case err != nil:
		return promptResult{err: err}
	case p.Progress.Withdrawn, isClosed(p.cancelled), !p.Progress.Begun && p.Progress.Failure == nil: // stopped elsewhere
		return promptResult{stop: stopCancelled}
	default:
		return outcome{p.Progress.Failure, p.Progress.Finish}.result()
	}
}

// end answers a prompt. Only the goroutine that follows the session calls it.
func (s *liveSession) end(p *promptWork, r promptResult) {
	s.forget(p)
	p.done <- r
	if !p.isBegun {
		close(p.begun)
	}
}

// endPrompts answers the prompts at work with an error.
func (s *liveSession) endPrompts(why error) {
	for _, p := range s.working {
		s.end(p, promptResult{err: why})
	}
	s.working = nil
}
