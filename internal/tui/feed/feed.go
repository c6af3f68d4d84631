// Package feed sends what happens in sessions to the program of the interface, as its messages.
package feed

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

type (
	// Updates are updates of one session that are shown together.
	Updates struct {
		ID   session.ID
		List []follow.Update
	}
	// Event is an event of any session that concerns the person.
	Event struct{ session.Event }
	// CallOutput is the output so far of a running call of any session.
	CallOutput struct{ session.ToolProgress }
	// Note is a text for people, of any session.
	Note struct{ session.Note }
	// Loss reports whether the server does not answer.
	Loss bool
)

// frameInterval is the time for which updates are collected before they are shown together.
const frameInterval = 16 * time.Millisecond

// maxBatch bounds the updates that are shown together.
const maxBatch = 2048

// Forward sends the updates of a watched session in batches until the watch has ended.
func Forward(id session.ID, updates <-chan follow.Update, send func(tea.Msg)) {
	for u := range updates {
		batch := []follow.Update{u}
		late := time.NewTimer(frameInterval)
	gather:
		for len(batch) < maxBatch {
			select {
			case u, ok := <-updates:
				if !ok {
					break gather
				}
				batch = append(batch, u)
			case <-late.C:
				break gather
			}
		}
		late.Stop()
		send(Updates{id, batch})
	}
}

// FollowAll sends the asks and the output of running calls of all sessions, and whether the connection is lost.
func FollowAll(ctx context.Context, c *api.Client, send func(tea.Msg)) {
	after, lost := int64(-1), Loss(false)
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		for u, err := range c.Feed(ctx, after) {
			if isLost := Loss(err != nil); isLost != lost && ctx.Err() == nil {
				lost = isLost
				send(lost)
			}
			if err != nil {
				break
			}
			if p := follow.ParseOutput(u); p != nil {
				send(CallOutput{*p})
			}
			if n := follow.ParseNote(u); n != nil {
				send(Note{*n})
			}
			if u.Event == nil {
				continue
			}
			after, pause = u.Event.Position, time.Second
			switch u.Event.Data.(type) {
			case *session.PermissionAsked, *session.PermissionReplied:
				send(Event{*u.Event})
			}
		}
		_ = follow.Sleep(ctx, pause) // the loop ends with ctx
	}
}
