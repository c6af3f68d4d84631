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

// streamItem is one item of a session's streams: an update, a stream that begins or broke, or the error after which nothing
// follows.
type streamItem struct {
	api.Update
	opened bool      // the server has accepted a stream
	lost   error     // the stream broke, or was not accepted; the next one is tried
	since  time.Time // of lost: when it broke, or was tried
	end    error
}

// stableTime is how long a stream without updates holds until it counts as restored; with an update it counts at once.
const stableTime = time.Second

// followSession sends the items of a session behind the event after, over as many streams as it takes: each resumes
// where the last one broke. It returns after an end, if send returns false, and without another item when ctx ends.
func followSession(ctx context.Context, c *api.Client, id session.ID, after int64, send func(streamItem) bool) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		since := time.Now()
		err := readStream(ctx, c, id, &after, func(i streamItem) bool {
			if !i.opened {
				pause = firstPause
			}
			since = time.Time{}
			return send(i)
		})
		if since.IsZero() {
			since = time.Now()
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, errStopped):
			return
		case !IsConnectionLost(err):
			send(streamItem{end: err})
			return
		case !send(streamItem{lost: err, since: since}), Sleep(ctx, pause) != nil:
			return
		}
	}
}

// errStopped says that send has taken enough.
var errStopped = errors.New("stopped")

// readStream sends that the server has accepted a stream, then its updates, and moves after to the newest event. It returns
// the error that broke the stream.
func readStream(
	ctx context.Context, c *api.Client, id session.ID, after *int64, send func(streamItem) bool,
) error {
	isStopped := false
	stream := c.FollowOpened(ctx, id, *after, func() { isStopped = !send(streamItem{opened: true}) })
	for u, err := range stream {
		switch {
		case isStopped:
			return errStopped
		case err != nil:
			return err
		case u.Event != nil && u.Event.Seq <= *after:
			continue
		case !send(streamItem{Update: u}):
			return errStopped
		case u.Event != nil:
			*after = u.Event.Seq
		}
	}
	return errStopped
}
