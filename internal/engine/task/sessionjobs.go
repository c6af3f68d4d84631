package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// sessionJobs are the jobs of one session. It implements tool.Jobs.
type sessionJobs struct {
	registry *Registry
	id       session.ID
}

// ForSession returns the session's jobs as its tools use them.
func (r *Registry) ForSession(id session.ID) tool.Jobs { return sessionJobs{r, id} }

// Start implements tool.Jobs.
func (s sessionJobs) Start(ctx context.Context, j session.Job, w tool.Work) (session.Job, error) {
	if ctx.Err() != nil {
		return j, context.Cause(ctx)
	}
	j.ID, j.Status = session.JobID(s.registry.Journal.IDs.New(session.PrefixJob)), session.JobRunning
	own, r, err := s.register(ctx, j, w)
	if err != nil {
		return j, err
	}
	if err := s.registry.Journal.AppendFacts(ctx, s.id, &session.JobStarted{Job: j}); err != nil {
		r.cancel(nil)
		s.registry.remove(j.ID, r)
		return j, err
	}
	go s.run(own, j.ID, r, w) // EndAll waits for it
	return j, nil
}

// register adds the job to those that run here, with a context that outlives the turn.
func (s sessionJobs) register(ctx context.Context, j session.Job, w tool.Work) (context.Context, *runningJob, error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &runningJob{session: s.id, job: j, task: j.Task, cancel: cancel, done: make(chan struct{}), recent: w.ReadTail}
	if err := s.registry.add(j.ID, r); err != nil {
		cancel(nil)
		return nil, nil, err
	}
	return own, r, nil
}

// run runs a job and records its end, whatever ended it. A task that ends with the process has not ended.
func (s sessionJobs) run(ctx context.Context, id session.JobID, r *runningJob, w tool.Work) {
	defer s.registry.remove(id, r)
	defer r.cancel(nil)
	fact := &session.JobEnded{JobID: id, Status: session.JobEndedItself}
	end := s.runWork(ctx, w)
	if r.task != nil && errors.Is(context.Cause(ctx), turnlog.ErrShutdown) {
		return
	}
	fact.Exit, fact.Error = end.Exit, end.Error
	switch {
	case end.Error != "":
		fact.Status = session.JobFailed
	case errors.Is(context.Cause(ctx), turnlog.ErrShutdown):
		fact.Status, fact.Exit = session.JobInterrupted, nil
	case ctx.Err() != nil:
		fact.Status, fact.Exit = session.JobCancelled, nil
	case end.TimedOut:
		fact.Status, fact.Exit = session.JobTimedOut, nil
	}
	if ctx.Err() != nil {
		end.Report = "" // what ended the job knows that
	}
	if err := s.recordEnd(ctx, fact, r.task, end.Report); err != nil {
		s.registry.Journal.Logger.Error("record the end of a job", "session", s.id, "job", id, "error", err)
	}
}

// recordEnd records the end of a job. With a report the session gets it as a prompt, once: both are committed together.
// A staged revert is not committed by it; the prompt then waits for the next one.
func (s sessionJobs) recordEnd(ctx context.Context, fact *session.JobEnded, t *session.TaskJob, report string) error {
	if t == nil || report == "" {
		return s.registry.Journal.AppendFacts(ctx, s.id, fact)
	}
	prompt := session.Prompt{Text: report, Parts: []session.PromptPart{{
		ID: s.registry.Journal.NewPartID(), Type: session.PartText, Length: len(report),
		Extra: jsontext.Value(`{"synthetic":true}`),
	}}}
	_, err := s.registry.Journal.Log.Append(context.WithoutCancel(ctx), s.id, store.Durable,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			row, err := store.FindSession(tx, s.id)
			if err != nil {
				return nil, err
			}
			return eventlog.NewDrafts(fact, &session.PromptAdmitted{
				MessageID: s.registry.Journal.NewMessageID(), Prompt: prompt, Delivery: session.Steer, Asks: t.Asks,
				Recovery: t.Recovery, Hold: row.Revert != nil, Restricted: t.Restricted,
			}), nil
		})
	if err == nil {
		s.registry.Wake(s.id)
	}
	return err
}

// runWork runs the work of a job. A panic is its failure.
func (s sessionJobs) runWork(ctx context.Context, w tool.Work) (end tool.JobEnd) {
	defer func() {
		if p := recover(); p != nil {
			s.registry.Journal.Logger.Error("job panicked", "session", s.id, "panic", fmt.Sprint(p))
			end = tool.JobEnd{Error: "cairn failed while it ran"}
		}
	}()
	return w.Run(ctx)
}

// List implements tool.Jobs. A job that is recorded as running and does not run here is an orphan of an earlier
// process.
func (s sessionJobs) List(ctx context.Context) ([]session.Job, error) {
	row, err := s.registry.Journal.ReadSession(ctx, s.id)
	if err != nil {
		return nil, err
	}
	for i, j := range row.Jobs {
		if j.Status == session.JobRunning && s.registry.find(j.ID) == nil {
			row.Jobs[i].Status = session.JobInterrupted
		}
	}
	return row.Jobs, nil
}

// Get returns one job of the session.
func (s sessionJobs) Get(ctx context.Context, id session.JobID) (session.Job, error) {
	jobs, err := s.List(ctx)
	if err != nil {
		return session.Job{}, err
	}
	for _, j := range jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return session.Job{}, tool.Failf("Job %q not found in this session; the action list shows the known jobs.", id)
}

// Wait implements tool.Jobs.
func (s sessionJobs) Wait(ctx context.Context, id session.JobID, d time.Duration) (session.Job, error) {
	if r := s.findOwn(id); r != nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-r.done:
		case <-timer.C:
		case <-ctx.Done():
			return session.Job{}, context.Cause(ctx)
		}
	}
	return s.Get(ctx, id)
}

// Cancel implements tool.Jobs.
func (s sessionJobs) Cancel(ctx context.Context, id session.JobID) (session.Job, error) {
	if r := s.findOwn(id); r != nil {
		r.cancel(turnlog.ErrCancelled)
		select {
		case <-r.done:
		case <-ctx.Done():
			return session.Job{}, context.Cause(ctx)
		}
	}
	return s.Get(ctx, id)
}

// ReadTail implements tool.Jobs.
func (s sessionJobs) ReadTail(id session.JobID, n int) (string, bool) {
	r := s.findOwn(id)
	if r == nil || r.recent == nil {
		return "", false
	}
	return r.recent(n), true
}

// findOwn returns the job if it runs here and belongs to the session, else nil.
func (s sessionJobs) findOwn(id session.JobID) *runningJob {
	if r := s.registry.find(id); r != nil && r.session == s.id {
		return r
	}
	return nil
}
