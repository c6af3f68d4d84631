package job

import (
	"context"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// CloseOrphans records the end of the session's jobs that an earlier process left running.
func (r *Registry) CloseOrphans(ctx context.Context, id session.ID) error {
	orphans := func(rd store.Reader) (drafts []eventlog.Draft, err error) {
		s, ok, err := rd.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		for _, j := range s.Jobs {
			if j.Status == session.JobRunning && r.find(j.ID) == nil {
				drafts = append(drafts, eventlog.Draft{Data: &session.JobEnded{JobID: j.ID, Status: session.JobInterrupted}})
			}
		}
		return drafts, nil
	}
	var n int // nearly always 0, which saves a write transaction
	err := r.journal.Store.View(ctx, func(rd store.Reader) error {
		drafts, err := orphans(rd)
		n = len(drafts)
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	_, err = r.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) { return orphans(tx) })
	return err
}
