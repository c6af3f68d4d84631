package tui

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cairn-dev/cairn/internal/peer"
)

// heard is an event, or that the stream broke. fatal says that no other one will be tried.
type heard struct {
	event peer.Event
	err   error
	fatal bool
}

// How long a broken stream is left alone, at first and at most; and how many times it is tried where nobody is there to
// leave.
const (
	firstPause = 500 * time.Millisecond
	maxPause   = 10 * time.Second
	mostTries  = 10
)

// follow hands on what the server tells, over as many streams as it takes: each goes on where the one before broke.
func (t *talk) follow(ctx context.Context) {
	cursor, ever, pause := "", false, firstPause
	for tries := 0; ; tries++ {
		var broke error
		for e, err := range t.Client.Events(ctx, cursor) {
			if err != nil {
				broke = err
				break
			}
			if e.Cursor != "" {
				cursor = e.Cursor
			}
			ever, pause, tries = true, firstPause, 0
			if !t.tell(ctx, heard{event: e}) {
				return
			}
		}
		fatal := !ever || refused(broke) || !t.Person && tries >= mostTries
		if !t.tell(ctx, heard{err: broke, fatal: fatal}) || fatal {
			return
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-ctx.Done():
			return
		}
	}
}

func (t *talk) tell(ctx context.Context, h heard) bool {
	select {
	case t.events <- h:
		return true
	case <-ctx.Done():
		return false
	}
}

// refused reports an answer that will not be another one the next time.
func refused(err error) bool {
	e, ok := errors.AsType[*peer.Error](err)
	return ok && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// typed is a line, or the end of the input.
type typed struct {
	text  string
	seen  int64 // how many asks had been on the screen when it ended
	ended bool
	err   error // why the input ended, nil if it just did
}

// maxLine bounds a line.
const maxLine = 1 << 20

// read hands on lines.
func (t *talk) read(ctx context.Context) {
	in := bufio.NewScanner(t.Input)
	in.Buffer(nil, maxLine)
	give := func(l typed) bool {
		select {
		case t.lines <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for in.Scan() {
		if !give(typed{text: in.Text(), seen: t.asked.Load()}) {
			return
		}
	}
	give(typed{ended: true, err: in.Err()})
}
