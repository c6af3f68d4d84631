package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Jobs that run at the same time.
const (
	maxJobs        = 32 // in the process
	maxSessionJobs = 8
)

// jobDesk holds the jobs that run in this process.
type jobDesk struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards running, closed
	running map[session.JobID]*runningJob
	closed  bool
}

// runningJob is a job that runs here. It leaves the desk once its end is recorded.
type runningJob struct {
	session session.ID
	cancel  context.CancelCauseFunc
	done    chan struct{}
	recent  func(n int) string
}

// enter takes a place for a job.
func (d *jobDesk) enter(id session.JobID, j *runningJob) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := 0
	for _, other := range d.running {
		if other.session == j.session {
			own++
		}
	}
	switch {
	case d.closed:
		return tool.Failf("The job was not started: cairn is shutting down.")
	case own >= maxSessionJobs:
		return tool.Failf("The job was not started: %d jobs of this session run already, which is the limit. End one with the tool job.", own)
	case len(d.running) >= maxJobs:
		return tool.Failf("The job was not started: %d jobs run already, which is the limit.", len(d.running))
	}
	if d.running == nil {
		d.running = map[session.JobID]*runningJob{}
	}
	d.running[id] = j
	d.wg.Add(1)
	return nil
}

func (d *jobDesk) leave(id session.JobID, j *runningJob) {
	d.mu.Lock()
	delete(d.running, id)
	d.mu.Unlock()
	close(j.done)
	d.wg.Done()
}

func (d *jobDesk) job(id session.JobID) *runningJob {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[id]
}

// end cancels the jobs of a session ("" all) and waits until their ends are recorded.
func (d *jobDesk) end(ctx context.Context, id session.ID, why error) error {
	d.mu.Lock()
	d.closed = d.closed || errors.Is(why, cause.ErrShutdown)
	jobs := slices.DeleteFunc(slices.Collect(maps.Values(d.running)), func(j *runningJob) bool { return id != "" && j.session != id })
	d.mu.Unlock()
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

// jobsOf is what the tools of a session may do with its jobs. It implements tool.Jobs.
type jobsOf struct {
	*Engine
	id session.ID
}

// Start implements tool.Jobs.
func (s jobsOf) Start(ctx context.Context, j session.Job, w tool.Work) (session.Job, error) {
	if ctx.Err() != nil {
		return j, context.Cause(ctx)
	}
	j.ID, j.Status = session.JobID(s.ids.New(session.PrefixJob)), session.JobRunning
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // it outlives the turn
	r := &runningJob{session: s.id, cancel: cancel, done: make(chan struct{}), recent: w.Recent}
	if err := s.jobs.enter(j.ID, r); err != nil {
		cancel(nil)
		return j, err
	}
	if err := s.fact(context.WithoutCancel(ctx), s.id, &session.JobStarted{Job: j}); err != nil {
		cancel(nil)
		s.jobs.leave(j.ID, r)
		return j, err
	}
	go s.run(own, j.ID, r, w) // jobDesk.end waits for it
	return j, nil
}

// run runs a job and records its end, whatever it was.
func (s jobsOf) run(ctx context.Context, id session.JobID, r *runningJob, w tool.Work) {
	defer s.jobs.leave(id, r)
	defer r.cancel(nil)
	fact := &session.JobEnded{JobID: id, Status: session.JobEndedItself}
	end := s.guardedWork(ctx, w)
	fact.Exit, fact.Error = end.Exit, end.Error
	switch {
	case end.Error != "":
		fact.Status = session.JobFailed
	case errors.Is(context.Cause(ctx), cause.ErrShutdown):
		fact.Status, fact.Exit = session.JobInterrupted, nil
	case ctx.Err() != nil:
		fact.Status, fact.Exit = session.JobCancelled, nil
	case end.TimedOut:
		fact.Status, fact.Exit = session.JobTimedOut, nil
	}
	if err := s.fact(context.WithoutCancel(ctx), s.id, fact); err != nil {
		s.logger.Error("record the end of a job", "session", s.id, "job", id, "error", err)
	}
}

// guardedWork turns a panic of a job into its failure.
func (s jobsOf) guardedWork(ctx context.Context, w tool.Work) (end tool.JobEnd) {
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("a job panicked", "session", s.id, "panic", fmt.Sprint(p))
			end = tool.JobEnd{Error: "cairn failed while it ran"}
		}
	}()
	return w.Run(ctx)
}

// List implements tool.Jobs. What is recorded as running and does not run here was cut off.
func (s jobsOf) List(ctx context.Context) ([]session.Job, error) {
	row, err := s.session(ctx, s.id)
	if err != nil {
		return nil, err
	}
	for i, j := range row.Jobs {
		if j.Status == session.JobRunning && s.jobs.job(j.ID) == nil {
			row.Jobs[i].Status = session.JobInterrupted
		}
	}
	return row.Jobs, nil
}

// get returns one job of the session.
func (s jobsOf) get(ctx context.Context, id session.JobID) (session.Job, error) {
	jobs, err := s.List(ctx)
	if err != nil {
		return session.Job{}, err
	}
	for _, j := range jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return session.Job{}, tool.Failf("There is no job %q in this session; the action list shows those that are remembered.", id)
}

// Wait implements tool.Jobs.
func (s jobsOf) Wait(ctx context.Context, id session.JobID, d time.Duration) (session.Job, error) {
	if r := s.own(id); r != nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-r.done:
		case <-timer.C:
		case <-ctx.Done():
			return session.Job{}, context.Cause(ctx)
		}
	}
	return s.get(ctx, id)
}

// Cancel implements tool.Jobs.
func (s jobsOf) Cancel(ctx context.Context, id session.JobID) (session.Job, error) {
	if r := s.own(id); r != nil {
		r.cancel(cause.ErrCancelled)
		select {
		case <-r.done:
		case <-ctx.Done():
			return session.Job{}, context.Cause(ctx)
		}
	}
	return s.get(ctx, id)
}

// Recent implements tool.Jobs.
func (s jobsOf) Recent(id session.JobID, n int) (string, bool) {
	r := s.own(id)
	if r == nil || r.recent == nil {
		return "", false
	}
	return r.recent(n), true
}

// own returns the job if it runs here and is the session's.
func (s jobsOf) own(id session.JobID) *runningJob {
	if r := s.jobs.job(id); r != nil && r.session == s.id {
		return r
	}
	return nil
}

// settleJobs records the end of the jobs that an earlier process left running.
func (d *drain) settleJobs(ctx context.Context) error {
	cutOff := func(r store.Reader) (drafts []eventlog.Draft, err error) {
		s, ok, err := r.Session(d.id)
		if err != nil || !ok {
			return nil, err
		}
		for _, j := range s.Jobs {
			if j.Status == session.JobRunning && d.jobs.job(j.ID) == nil {
				drafts = append(drafts, eventlog.Draft{Data: &session.JobEnded{JobID: j.ID, Status: session.JobInterrupted}})
			}
		}
		return drafts, nil
	}
	var found int // nearly always 0, which costs no transaction
	err := d.store.View(ctx, func(r store.Reader) error {
		drafts, err := cutOff(r)
		found = len(drafts)
		return err
	})
	if err != nil || found == 0 {
		return err
	}
	_, err = d.log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) { return cutOff(tx) })
	return err
}
