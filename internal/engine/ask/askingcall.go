package ask

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// AskingCall is a tool call that may ask. The calls of a step ask in their order: a call may ask once the first ask of
// the call before it is decided or listed, or that call has ended. Later asks of a call wait for no other call.
type AskingCall struct {
	MessageID session.MessageID
	ID        string
	PartID    session.PartID
	Began     time.Time // when an earlier process began the call, which may have left asks; zero for a call of this one
	// Begins: the call begins work whose order is seen, so that a decision without an ask does not release the next call.
	Begins bool
	// Tool and Input are the call as it runs.
	Tool  string
	Input jsontext.Value
	// Decided is what extensions decided about the call before it ran; nil if they did not.
	Decided *session.CallExtensions

	previous *AskingCall   // of the same step; nil for the first
	released chan struct{} // closed once the next call may ask
	once     sync.Once
	waited   atomic.Int64 // nanoseconds
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

// isResumed reports whether an earlier process began the call.
func (c *AskingCall) isResumed() bool { return !c.Began.IsZero() }

// Waited returns how long the call waited for answers; 0 below a second, in which rules and policies answer.
func (c *AskingCall) Waited() time.Duration {
	if d := time.Duration(c.waited.Load()); d >= time.Second {
		return d
	}
	return 0
}

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

// run runs one ask of the call in its order and counts the time that it takes. The call stays pending if ctx ended the
// ask.
func (c *AskingCall) run(ctx context.Context, now func() time.Time, ask func() error) error {
	c.pending.Store(true)
	c.AwaitRelease(ctx)
	began := now()
	if c.isResumed() && !c.Begins && c.waited.Load() == 0 {
		began = c.Began // a call that is run again has done nothing yet; a task goes on
	}
	err := ask()
	c.waited.Add(int64(now().Sub(began)))
	if !c.Begins || err != nil {
		c.Release()
	}
	if err == nil || ctx.Err() == nil {
		c.pending.Store(false)
	}
	return err
}
