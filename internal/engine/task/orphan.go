package task

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// HasOrphans reports whether an earlier process left one of the jobs running.
func (r *Registry) HasOrphans(jobs []session.Job) bool {
	return slices.ContainsFunc(jobs, r.isOrphan)
}

func (r *Registry) isOrphan(j session.Job) bool {
	return j.Status == session.JobRunning && r.find(j.ID) == nil
}

// CloseOrphans records the end of the session's commands that an earlier process left running. With resume it continues
// its tasks; without, they wait.
func (r *Registry) CloseOrphans(ctx context.Context, id session.ID, resume bool) error {
	var tasks []session.Job
	// End the commands in one transaction: their processes are gone.
	_, err := r.Journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) (drafts []eventlog.Draft, err error) {
		tasks = nil
		s, ok, err := tx.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		for _, j := range s.Jobs {
			if r.isOrphan(j) && j.Task != nil {
				if resume {
					tasks = append(tasks, j)
				}
			} else if r.isOrphan(j) {
				end := &session.JobEnded{JobID: j.ID, Status: session.JobInterrupted}
				drafts = append(drafts, eventlog.Draft{Data: end})
			}
		}
		return drafts, nil
	})
	// Continue the tasks as jobs of this process: their sessions are durable.
	jobs := sessionJobs{r, id}
	for _, j := range tasks {
		w := r.ContinueTask(*j.Task)
		own, registered, rerr := jobs.register(ctx, j, w)
		if rerr != nil {
			return errors.Join(err, rerr)
		}
		go jobs.run(own, j.ID, registered, w)
	}
	return err
}

// EndOrphans records the end of all jobs of the session that an earlier process left running, its tasks included.
func (r *Registry) EndOrphans(ctx context.Context, id session.ID) error {
	_, err := r.Journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) (drafts []eventlog.Draft, err error) {
		s, ok, err := tx.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		for _, j := range s.Jobs {
			if r.isOrphan(j) {
				drafts = append(drafts, eventlog.Draft{
					Data: &session.JobEnded{JobID: j.ID, Status: session.JobInterrupted},
				})
			}
		}
		return drafts, nil
	})
	return err
}
