package sdk

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// watch follows a session, without deltas that were yielded before. Its connection may break for
// follow.ReconnectTimeout at a time.
type watch struct {
	sent map[session.PartID]int // bytes that were yielded of the texts of the turn
	*follow.Watch
	lost     error
	lostLong <-chan time.Time // fires when the connection is lost for too long
}

// watch begins to follow the session. Stop the watch.
func (s *Session) watch(ctx context.Context, o follow.Options) *watch {
	return &watch{sent: map[session.PartID]int{}, Watch: follow.Start(ctx, s.client.api, s.id, o)}
}

// next returns the next update that is not about the connection, or the error that ends the watch.
func (w *watch) next(ctx context.Context) (follow.Update, error) {
	for {
		u, err := w.receive(ctx)
		switch {
		case err != nil:
			return u, err
		case u.End != nil:
			return u, publicError(u.End)
		case u.Lost != nil:
			w.lost, w.lostLong = u.Lost, follow.LostTimer(u.Since)
		case u.Found:
			w.lost, w.lostLong = nil, nil
			return u, nil
		case u.Event != nil:
			if _, ok := u.Event.Data.(*session.StepStarted); ok {
				clear(w.sent) // the texts of the turn before are complete
			}
			return u, nil
		case u.Fragment != nil:
			if w.trimSent(u.Fragment) {
				return u, nil
			}
		default:
			return u, nil
		}
	}
}

// receive returns the next update, or the error of ctx or of a connection that is lost for too long. An update that waits comes
// first: while the program was at work, the connection may have been lost for a minute and restored.
func (w *watch) receive(ctx context.Context) (u follow.Update, err error) {
	isOpen := true
	select {
	case u, isOpen = <-w.C:
	default:
		select {
		case u, isOpen = <-w.C:
		case <-ctx.Done():
			return u, context.Cause(ctx)
		case <-w.lostLong:
			return u, publicError(w.lost)
		}
	}
	if !isOpen { // by its context
		return u, context.Cause(ctx)
	}
	return u, nil
}

// trimSent removes from a fragment what was yielded before, as after a connection was restored. It reports whether
// something is left.
func (w *watch) trimSent(f *session.Fragment) bool {
	sent := w.sent[f.PartID] - f.Offset
	if sent < 0 {
		sent = 0 // a part was missed; TextEnded has it
	}
	if sent >= len(f.Delta) {
		return false
	}
	f.Delta = f.Delta[sent:]
	f.Offset += sent
	w.sent[f.PartID] = f.Offset + len(f.Delta)
	return true
}
