package acp

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
)

// startFeed begins to forward the output of calls, unless that has begun. It ends with the connection.
func (a *agent) startFeed() {
	a.feeding.Do(func() {
		a.following.Go(func() {
			for a.life.Err() == nil {
				a.forwardOutput(a.life)
				_ = follow.Sleep(a.life, time.Second) // the loop ends with the connection
			}
		})
	})
}

// forwardOutput gives each open session the output so far of its running calls and texts for people, and has them look at
// their MCP servers when the stream begins and when the state of one has changed. It returns when the stream breaks. One
// stream serves all sessions, because the server bounds the streams of a process. A session that is busy misses some: the
// next output has all of the call, and texts are only for display.
func (a *agent) forwardOutput(ctx context.Context) {
	for u, err := range a.options.Client.FeedOpened(ctx, -1, a.noteServerChange) {
		if err != nil {
			return
		}
		if u.Notice == nil {
			continue
		}
		if u.Notice.Kind == api.EventServerState {
			a.noteServerChange()
			continue
		}
		s := a.lookUp(u.Notice.SessionID)
		shown := follow.Update{Output: follow.ParseOutput(u), Note: follow.ParseNote(u)}
		if s == nil || shown.Output == nil && shown.Note == nil {
			continue
		}
		select {
		case s.live <- shown:
		default:
		}
	}
}

// noteServerChange has the open sessions look at the states of their MCP servers.
func (a *agent) noteServerChange() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.noteServerChange()
	}
}
