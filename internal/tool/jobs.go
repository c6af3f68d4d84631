package tool

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Jobs are the background jobs of the session that calls. Errors of its methods are written for the model.
type Jobs interface {
	// Start records the job, which gets its id, and then runs it.
	Start(ctx context.Context, j session.Job, w Work) (session.Job, error)
	// List returns the jobs that are remembered, oldest first.
	List(ctx context.Context) ([]session.Job, error)
	// Wait returns the job once it has ended, or as it is after d.
	Wait(ctx context.Context, id session.JobID, d time.Duration) (session.Job, error)
	// Cancel ends the job with everything it started, and waits for that.
	Cancel(ctx context.Context, id session.JobID) (session.Job, error)
	// Recent returns at most n bytes of the end of what a running job has printed; ok is false for others.
	ReadTail(id session.JobID, n int) (text string, ok bool)
}

// Work is what a job does.
type Work struct {
	Run      func(ctx context.Context) JobEnd // until it is done or ctx ends
	ReadTail func(n int) string               // see Jobs; safe beside Run
}

// JobEnd is how a job ended. That it was cut off is known from the context.
type JobEnd struct {
	Exit     *int
	TimedOut bool
	Error    string // why it could not be started
}
