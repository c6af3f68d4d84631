package engine

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Jobs returns the jobs of the session that are remembered, oldest first.
func (e *Engine) Jobs(ctx context.Context, id session.ID) ([]session.Job, error) {
	return jobsOf{e, id}.List(ctx)
}

// Job returns one job of the session.
func (e *Engine) Job(ctx context.Context, id session.ID, job session.JobID) (session.Job, error) {
	return e.knownJob(ctx, id, job, func(jobs jobsOf) (session.Job, error) { return jobs.get(ctx, job) })
}

// WaitJob returns the job once it has ended, or as it is after d.
func (e *Engine) WaitJob(ctx context.Context, id session.ID, job session.JobID, d time.Duration) (session.Job, error) {
	return e.knownJob(ctx, id, job, func(jobs jobsOf) (session.Job, error) { return jobs.Wait(ctx, job, d) })
}

// CancelJob ends the job with everything it started, and returns it when that is recorded. One that has ended stays as it is.
func (e *Engine) CancelJob(ctx context.Context, id session.ID, job session.JobID) (session.Job, error) {
	return e.knownJob(ctx, id, job, func(jobs jobsOf) (session.Job, error) { return jobs.Cancel(ctx, job) })
}

// knownJob does something with a job that there is.
func (e *Engine) knownJob(ctx context.Context, id session.ID, job session.JobID, do func(jobsOf) (session.Job, error)) (session.Job, error) {
	row, err := e.session(ctx, id)
	if err != nil {
		return session.Job{}, err
	}
	if row.Job(job) == nil {
		return session.Job{}, session.NotFound("job", string(job))
	}
	return do(jobsOf{e, id})
}

// JobLog is a piece of what a job has printed.
type JobLog struct {
	Job  session.Job // as it was before the piece was read: of one that had ended, no more comes than there is
	Text []byte
	Next int64 // where the next piece begins
}

// ReadJob returns a part of what the job has printed.
func (e *Engine) ReadJob(ctx context.Context, id session.ID, job session.JobID, from Stretch) (JobLog, error) {
	j, err := e.Job(ctx, id, job)
	if err != nil {
		return JobLog{}, err
	}
	gone := session.NotFound("output of job", string(job))
	if e.outputs == nil {
		return JobLog{}, gone
	}
	text, next, err := e.outputs.Read(j.OutputPath, from.Offset, from.Bytes)
	if errors.Is(err, fs.ErrNotExist) {
		return JobLog{}, gone
	}
	return JobLog{Job: j, Text: text, Next: next}, err
}

// Stretch is a part of a file: so many bytes from an offset on, which counts from the end if it is negative.
type Stretch struct {
	Offset int64
	Bytes  int
}
