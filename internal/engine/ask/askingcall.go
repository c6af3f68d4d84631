package ask

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/session"
)

// AskingCall is a tool call that may ask. The calls of a step ask in their order: a call may ask once the first ask of
// the call before it is decided or listed, or that call has ended. Later asks of a call wait for no other call.
type AskingCall struct {
	MessageID session.MessageID
	ID        string
	PartID    session.PartID
	Resumed   bool // an earlier process began the call, and may have left asks
	// Begins: the call begins work whose order is seen, so that a decision without an ask does not release the next call.
	Begins bool

	previous *AskingCall   // of the same step; nil for the first
	released chan struct{} // closed once the next call may ask
	once     sync.Once
	pending  atomic.Bool
	approved atomic.Bool // a person allowed the call's command, not only a rule, a saved approval or the policy
	outside  atomic.Bool // a person, or a rule or approval that names them, allowed its directories outside the Location
	unread   atomic.Bool // the policy allowed it to change files, which no person saw
}

// NewAskingCall returns the call that asks after previous, which is nil for the first call of a step.
func NewAskingCall(m session.MessageID, id string, part session.PartID, previous *AskingCall) *AskingCall {
	return &AskingCall{MessageID: m, ID: id, PartID: part, previous: previous, released: make(chan struct{})}
}

// IsPending reports whether the call waits for a reply, or was stopped while it did. Such a call has done nothing
// yet.
func (c *AskingCall) IsPending() bool { return c.pending.Load() }

// Release lets the next call ask. Calling it again does nothing.
func (c *AskingCall) Release() { c.once.Do(func() { close(c.released) }) }

// AwaitRelease returns when the call before has released this one, or when ctx ends.
func (c *AskingCall) AwaitRelease(ctx context.Context) {
	if c.previous == nil {
		return
	}
	select {
	case <-c.previous.released:
	case <-ctx.Done():
	}
}

// run runs one ask of the call in its order. The call stays pending if ctx ended the ask.
func (c *AskingCall) run(ctx context.Context, ask func() error) error {
	c.pending.Store(true)
	c.AwaitRelease(ctx)
	err := ask()
	if !c.Begins || err != nil {
		c.Release()
	}
	if err == nil || ctx.Err() == nil {
		c.pending.Store(false)
	}
	return err
}
