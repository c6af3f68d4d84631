package tool

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Jobs are the background jobs of the calling session. Errors are for the model.
type Jobs interface {
	// Start records the job, which gives it an ID, and runs it.
	Start(ctx context.Context, j session.Job, w Work) (session.Job, error)
	// List returns the recorded jobs, oldest first.
	List(ctx context.Context) ([]session.Job, error)
	// Wait returns the job when it has ended, or after d.
	Wait(ctx context.Context, id session.JobID, d time.Duration) (session.Job, error)
	// Cancel ends the job with everything it started, and waits for its end.
	Cancel(ctx context.Context, id session.JobID) (session.Job, error)
	// ReadTail returns the end of a running job's output, at most n bytes; ok is false if the job does not run.
	ReadTail(id session.JobID, n int) (text string, ok bool)
}

// Work runs a job and reads its output.
type Work struct {
	Run      func(ctx context.Context) JobEnd // returns when the work is done or ctx ends
	ReadTail func(n int) string               // see Jobs; may be called during Run
}

// JobEnd is the outcome of a job. Whether it was cancelled is known from its context.
type JobEnd struct {
	Exit     *int
	TimedOut bool
	Error    string // why it could not be started
	Report   string // of a task, for the model
}
