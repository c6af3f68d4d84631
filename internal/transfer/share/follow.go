package share

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// cursorName is the name of the follower's cursor in the data directory.
const cursorName = "shares.cursor"

// startFollower marks shares as their sessions change, until ctx ends; then done is closed. If isNew, the marks begin
// with all shares, because no process followed the sessions before.
func (o *Outbox) startFollower(ctx context.Context, isNew bool) (done <-chan struct{}) {
	f := &follower.Follower{
		Name: "shares", Store: o.Store, Log: o.Log, Consumer: &changeMarker{outbox: o, isNew: isNew},
		File: filepath.Join(o.Registry.dir, cursorName), Logger: o.Logger,
	}
	if isNew {
		f.Restart()
	}
	end := make(chan struct{})
	go func() { // Run waits for it
		defer close(end)
		f.Run(ctx)
	}()
	return end
}

// changeMarker is a follower.Consumer that marks the shares of sessions with new events. The marks are durable with the
// cursor, so that a process that starts looks only at what has changed.
type changeMarker struct {
	outbox *Outbox
	isNew  bool // no process has followed the log before: the positions of the shares are those of this store
}

// Rebuild marks all shares. A cursor that does not fit the store is one of another state of it, as after a backup was
// restored: then the positions of the shares are, too, and everything is uploaded again.
func (m *changeMarker) Rebuild(_ context.Context, _ string, _ func(string) error) error {
	shares, err := m.outbox.Registry.List()
	for i := range shares {
		if !m.isNew && shares[i].isRemote() {
			err = errors.Join(err, m.outbox.Registry.resetSynced(shares[i].ID))
		}
		m.outbox.schedule.add(shares[i].ID)
	}
	m.isNew = false
	m.outbox.signal()
	return err
}

// Apply marks the shares of the events' sessions. A page is read when it is requested: only a deletion matters for it.
func (m *changeMarker) Apply(_ context.Context, events []store.EventRow) error {
	shares, err := m.outbox.Registry.List()
	if err != nil || len(shares) == 0 {
		return err
	}
	changed := map[session.ID]bool{} // the value says that the session was deleted
	for i := range events {
		e := &events[i]
		changed[e.SessionID] = changed[e.SessionID] || e.Kind == session.KindDeleted
	}
	isMarked := false
	for i := range shares {
		s := &shares[i]
		isDeleted, found := changed[s.SessionID]
		if found && s.RevokedAt == 0 && (s.isRemote() || isDeleted) {
			m.outbox.schedule.add(s.ID)
			isMarked = true
		}
	}
	if isMarked {
		m.outbox.signal()
	}
	return nil
}

// Sync makes the marks durable.
func (m *changeMarker) Sync(context.Context) error { return m.outbox.saveProgress(true) }
