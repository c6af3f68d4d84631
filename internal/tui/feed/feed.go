// Package feed sends what happens in sessions to the program of the interface, as its messages.
package feed

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

type (
	// Updates are updates of one session that are shown together.
	Updates []follow.SessionUpdate
	// Idle says that a session is idle since the event with the seq End.
	Idle struct {
		ID  session.ID
		End int64
		Err error
	}
	// Event is an event of any session that concerns the person.
	Event struct{ session.Event }
	// CallOutput is the output so far of a running call of any session.
	CallOutput struct{ session.ToolProgress }
	// Loss reports whether the server does not answer.
	Loss bool
)

// frameInterval is the time for which updates are collected before they are shown together.
const frameInterval = 16 * time.Millisecond

// maxBatch bounds the updates that are shown together.
const maxBatch = 2048

// FollowSession sends the updates of a session in batches.
func FollowSession(ctx context.Context, c *api.Client, id session.ID, after int64, send func(tea.Msg)) {
	updates := make(chan follow.SessionUpdate, maxBatch)
	var reader sync.WaitGroup
	defer reader.Wait()
	reader.Go(func() {
		defer close(updates)
		follow.FollowSession(ctx, c, id, after, func(u follow.SessionUpdate) bool {
			select {
			case updates <- u:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	for u := range updates {
		batch := Updates{u}
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
		send(batch)
	}
}

// AwaitIdle returns when the session is idle.
func AwaitIdle(ctx context.Context, c *api.Client, id session.ID) tea.Msg {
	err := c.Wait(ctx, id)
	for ; follow.IsConnectionLost(err) && ctx.Err() == nil; err = c.Wait(ctx, id) {
		_ = follow.Sleep(ctx, time.Second) // the loop ends with ctx
	}
	var end int64
	if err == nil {
		end, err = c.Head(ctx, id)
	}
	return Idle{id, end, err}
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
			if u.Notice != nil && u.Notice.Kind == string(session.KindToolProgress) {
				var p session.ToolProgress
				if json.Unmarshal(u.Notice.Data, &p) == nil {
					send(CallOutput{p})
				}
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
