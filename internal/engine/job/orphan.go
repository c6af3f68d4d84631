package job

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// HasOrphans reports whether an earlier process left one of the jobs running.
func (r *Registry) HasOrphans(jobs []session.Job) bool {
	return slices.ContainsFunc(jobs, r.isOrphan)
}

func (r *Registry) isOrphan(j session.Job) bool {
	return j.Status == session.JobRunning && r.find(j.ID) == nil
}

// CloseOrphans records the end of the session's jobs that an earlier process left running.
func (r *Registry) CloseOrphans(ctx context.Context, id session.ID) error {
	_, err := r.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) (drafts []eventlog.Draft, err error) {
		s, ok, err := tx.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		for _, j := range s.Jobs {
			if r.isOrphan(j) {
				end := &session.JobEnded{JobID: j.ID, Status: session.JobInterrupted}
				drafts = append(drafts, eventlog.Draft{Data: end})
			}
		}
		return drafts, nil
	})
	return err
}
