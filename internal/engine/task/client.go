package task

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// List returns the session's remembered jobs, oldest first.
func (r *Registry) List(ctx context.Context, id session.ID) ([]session.Job, error) {
	return sessionJobs{r, id}.List(ctx)
}

// Get returns one job of the session. An unknown one is a *session.Error of code not-found.
func (r *Registry) Get(ctx context.Context, id session.ID, job session.JobID) (session.Job, error) {
	return r.withJob(ctx, id, job, func(jobs sessionJobs) (session.Job, error) { return jobs.Get(ctx, job) })
}

// Wait returns the job when it has ended, or after d as it is then.
func (r *Registry) Wait(ctx context.Context, id session.ID, job session.JobID, d time.Duration) (session.Job, error) {
	return r.withJob(ctx, id, job, func(jobs sessionJobs) (session.Job, error) { return jobs.Wait(ctx, job, d) })
}

// Cancel ends the job with everything that it started, and returns it once that is recorded. An ended job stays as it
// is.
func (r *Registry) Cancel(ctx context.Context, id session.ID, job session.JobID) (session.Job, error) {
	return r.withJob(ctx, id, job, func(jobs sessionJobs) (session.Job, error) { return jobs.Cancel(ctx, job) })
}

// withJob runs f if the session has the job.
func (r *Registry) withJob(
	ctx context.Context, id session.ID, job session.JobID, f func(sessionJobs) (session.Job, error),
) (session.Job, error) {
	row, err := r.Journal.ReadSession(ctx, id)
	if err != nil {
		return session.Job{}, err
	}
	if row.FindJob(job) == nil {
		return session.Job{}, session.NotFound("job", string(job))
	}
	return f(sessionJobs{r, id})
}

// Range is a part of a job's output. A negative Offset counts from the end.
type Range struct {
	Offset int64
	Bytes  int
}

// OutputPart is a part of what a job has printed.
type OutputPart struct {
	Job  session.Job // as of before the read: if it had ended, nothing follows after the last part
	Text []byte
	Next int64 // offset of the next part
}

// ReadOutput returns a part of what the job has printed.
func (r *Registry) ReadOutput(ctx context.Context, id session.ID, job session.JobID, part Range) (OutputPart, error) {
	j, err := r.Get(ctx, id, job)
	if err != nil {
		return OutputPart{}, err
	}
	missing := session.NotFound("output of job", string(job))
	if r.Outputs == nil {
		return OutputPart{}, missing
	}
	text, next, err := r.Outputs.Read(j.OutputPath, part.Offset, part.Bytes)
	if errors.Is(err, fs.ErrNotExist) {
		return OutputPart{}, missing
	}
	return OutputPart{Job: j, Text: text, Next: next}, err
}
