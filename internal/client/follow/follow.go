// Package follow is the client of a session at work: it follows events over as many connections as it takes, waits for
// the session to become idle, and finds what the session and its tasks ask.
package follow

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// SessionUpdate is one update of a session's stream, or the error that broke it. After a final one no more follow.
type SessionUpdate struct {
	ID     session.ID
	Update api.Update
	Err    error
	Final  bool
}

// How long a broken stream is left alone before it is read again, at first and at most.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
)

// FollowSession sends the updates of a session behind the event after, over as many streams as it takes: each resumes
// where the last one broke. It returns after a final update, if send returns false, and without another update when ctx
// ends.
func FollowSession(ctx context.Context, c *api.Client, id session.ID, after int64, send func(SessionUpdate) bool) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		for u, err := range c.Follow(ctx, id, after) {
			if ctx.Err() != nil {
				return
			}
			final := err != nil && !IsConnectionLost(err)
			if !send(SessionUpdate{id, u, err, final}) || final {
				return
			}
			if err != nil {
				break
			}
			if u.Event != nil {
				after, pause = u.Event.Seq, firstPause
			}
		}
		if Sleep(ctx, pause) != nil {
			return
		}
	}
}

// RepeatUntilAnswered makes a call until a server answers it, ctx ends, or ReconnectTimeout has passed. It is for calls
// that change nothing when they are repeated, such as those with an id of the caller's.
func RepeatUntilAnswered(ctx context.Context, call func() error) error {
	since := time.Now()
	for pause := firstPause; ; pause = min(2*pause, 2*time.Second) {
		err := call()
		e, _ := errors.AsType[*api.TransportError](err)
		lost := IsConnectionLost(err) && (e == nil || !e.Foreign)
		if !lost || time.Since(since) > ReconnectTimeout || Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// Sleep waits for d, or returns the cause with which ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
