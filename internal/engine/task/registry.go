package task

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The limits of jobs that run at the same time.
const (
	maxJobs        = 32 // in the process
	maxSessionJobs = 8
)

// OutputReader reads the managed files to which jobs print.
type OutputReader interface {
	// Read returns at most n bytes of a managed file and the offset after them. A negative offset counts from the
	// end. For a path that is not a managed file it returns fs.ErrNotExist.
	Read(path string, offset int64, n int) (text []byte, next int64, err error)
}

// RegistryConfig configures a Registry.
type RegistryConfig struct {
	Journal *turnlog.Journal
	Outputs OutputReader // nil: ReadOutput finds nothing
	// ContinueTask returns the work of a task that an earlier process began.
	ContinueTask func(session.TaskJob) tool.Work
	// Wake makes a session look at its inbox.
	Wake func(session.ID)
}

// Registry holds the jobs that run in this process. Safe for concurrent use.
type Registry struct {
	RegistryConfig

	mu     sync.Mutex // guards the rest
	jobs   map[session.JobID]*runningJob
	closed bool // no job may start
}

// runningJob is a job that runs in this process. It leaves the registry once its end is recorded.
type runningJob struct {
	session session.ID
	job     session.Job      // as it started
	task    *session.TaskJob // nil for a command
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed once its end is recorded
	recent  func(n int) string
}

// NewRegistry returns an empty registry.
func NewRegistry(c RegistryConfig) *Registry {
	return &Registry{RegistryConfig: c, jobs: map[session.JobID]*runningJob{}}
}

// EndAll cancels the jobs of a session, or all (""), and waits until their ends are recorded or ctx ends. After
// turnlog.ErrShutdown no job starts any more.
func (r *Registry) EndAll(ctx context.Context, id session.ID, why error) error {
	r.mu.Lock()
	r.closed = r.closed || errors.Is(why, turnlog.ErrShutdown)
	jobs := slices.Collect(maps.Values(r.jobs))
	r.mu.Unlock()
	jobs = slices.DeleteFunc(jobs, func(j *runningJob) bool { return id != "" && j.session != id })
	for _, j := range jobs {
		j.cancel(why)
	}
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// add registers a job, unless a limit is reached or cairn is shutting down.
func (r *Registry) add(id session.JobID, j *runningJob) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := 0
	for _, other := range r.jobs {
		if other.session == j.session {
			own++
		}
	}
	switch {
	case r.closed:
		return tool.Failf("The job was not started: cairn is shutting down.")
	case own >= maxSessionJobs:
		return tool.Failf("The job was not started: %d jobs of this session run already, which is the limit. "+
			"End one with the tool job.", own)
	case len(r.jobs) >= maxJobs:
		return tool.Failf("The job was not started: %d jobs run already, which is the limit.", len(r.jobs))
	}
	r.jobs[id] = j
	return nil
}

func (r *Registry) remove(id session.JobID, j *runningJob) {
	r.mu.Lock()
	delete(r.jobs, id)
	r.mu.Unlock()
	close(j.done)
}

// RunningJob is a job that runs in this process.
type RunningJob struct {
	SessionID session.ID
	Job       session.Job // as it started
}

// ListRunning returns the jobs that run, the oldest first.
func (r *Registry) ListRunning() (out []RunningJob) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		out = append(out, RunningJob{j.session, j.job})
	}
	slices.SortFunc(out, func(a, b RunningJob) int { return strings.Compare(string(a.Job.ID), string(b.Job.ID)) })
	return out
}

// HasRunning reports whether a job runs.
func (r *Registry) HasRunning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.jobs) > 0
}

// AwaitTasks waits until the tasks of the session that run in the background have ended. It reports whether there were
// any.
func (r *Registry) AwaitTasks(ctx context.Context, id session.ID) (waited bool, err error) {
	r.mu.Lock()
	jobs := slices.Collect(maps.Values(r.jobs))
	r.mu.Unlock()
	for _, j := range jobs {
		if j.session != id || j.task == nil {
			continue
		}
		waited = true
		select {
		case <-j.done:
		case <-ctx.Done():
			return waited, context.Cause(ctx)
		}
	}
	return waited, nil
}

// find returns the job if it runs here, else nil.
func (r *Registry) find(id session.JobID) *runningJob {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}
