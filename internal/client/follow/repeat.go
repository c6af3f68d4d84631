package follow

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// ReconnectTimeout bounds the time that a client tries to restore a lost connection.
const ReconnectTimeout = time.Minute

// LostTimer returns the channel that receives when a connection that was lost at since is lost for ReconnectTimeout. A reader
// that learns that late, because it was at work, leaves the next stream the time to be found.
func LostTimer(since time.Time) <-chan time.Time {
	return time.After(max(ReconnectTimeout-time.Since(since), 5*stableTime))
}

// IsConnectionLost reports whether another connection may help. It does not help if the owner says what of it is
// unavailable, such as its damaged data or an MCP server.
func IsConnectionLost(err error) bool {
	if _, ok := errors.AsType[*api.TransportError](err); ok {
		return true
	}
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeUnavailable && e.Kind == ""
}

// IsDamaged reports whether a request was refused because the session's stored data is damaged.
func IsDamaged(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Kind == api.KindDamaged
}

// RepeatUntilAnswered makes a call until a server answers it, ctx ends, or ReconnectTimeout has passed since the server was
// lost: a call may last for longer before. It is for calls that change nothing when they are repeated, such as those with
// an id of the caller's.
func RepeatUntilAnswered(ctx context.Context, call func() error) error {
	since := time.Now()
	for pause := firstPause; ; pause = min(2*pause, 2*time.Second) {
		began := time.Now()
		err := call()
		if time.Since(began) > ReconnectTimeout {
			since, pause = time.Now(), firstPause
		}
		e, _ := errors.AsType[*api.TransportError](err)
		_, isGone := errors.AsType[*goneError](err)
		lost := IsConnectionLost(err) && (e == nil || !e.Foreign) && !isGone
		if !lost || time.Since(since) > ReconnectTimeout || Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// Sleep waits for d, or returns the cause with which ctx ended.
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
