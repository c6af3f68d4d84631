// Package follow is the client of a session at work. A Watch reports what happens in a session and in those of its
// tasks, over as many connections as it takes, until the session is idle; a Progress folds that into the outcome of one
// prompt. Every interface shows a session through it.
package follow

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// How long a broken stream is left alone before it is read again, at first and at most.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
)

// streamItem is one item of a session's stream: an update, a connection that was lost or found again, or the error
// after which nothing follows.
type streamItem struct {
	api.Update
	lost  error // the stream broke, and is being restored
	found bool  // the stream is restored
	end   error
}

// followSession sends the items of a session behind the event after, over as many streams as it takes: each resumes
// where the last one broke. It returns after an end, if send returns false, and without another item when ctx ends.
func followSession(ctx context.Context, c *api.Client, id session.ID, after int64, send func(streamItem) bool) {
	lost := false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		// Read a stream until it breaks. One that the server has accepted restores what was lost.
		err := readStream(ctx, c, id, &after, func(u *api.Update) bool {
			if u != nil {
				pause = firstPause
				return send(streamItem{Update: *u})
			}
			wasLost := lost
			lost = false
			return !wasLost || send(streamItem{found: true})
		})
		switch {
		case ctx.Err() != nil, errors.Is(err, errStopped):
			return
		case !IsConnectionLost(err):
			send(streamItem{end: err})
			return
		case !lost && !send(streamItem{lost: err}):
			return
		}
		if lost = true; Sleep(ctx, pause) != nil {
			return
		}
	}
}

// errStopped says that send has taken enough.
var errStopped = errors.New("stopped")

// readStream sends nil when the server has accepted the stream, then its updates, and moves after to the newest event. It
// returns the error that broke the stream.
func readStream(
	ctx context.Context, c *api.Client, id session.ID, after *int64, send func(*api.Update) bool,
) error {
	isStopped := false
	stream := c.FollowOpened(ctx, id, *after, func() { isStopped = !send(nil) })
	for u, err := range stream {
		switch {
		case isStopped:
			return errStopped
		case err != nil:
			return err
		case u.Event != nil && u.Event.Seq <= *after:
			continue
		case !send(&u):
			return errStopped
		case u.Event != nil:
			*after = u.Event.Seq
		}
	}
	return errStopped
}
