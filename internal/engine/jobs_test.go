package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

// untilStopped is work that ends only when it is stopped.
func untilStopped(ctx context.Context) tool.JobEnd {
	<-ctx.Done()
	exit := 143
	return tool.JobEnd{Exit: &exit}
}

// jobWorld returns a world with a session, and the session's jobs.
func jobWorld(t *testing.T) (*world, tool.Jobs) {
	t.Helper()
	w := newWorld(t, script.Script{})
	if _, err := w.engine.Commands.CreateSession(t.Context(),
		admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
		t.Fatal(err)
	}
	return w, w.engine.Jobs.ForSession("ses_a")
}

func startJobOf(t *testing.T, jobs tool.Jobs, run func(context.Context) tool.JobEnd) session.JobID {
	t.Helper()
	j, err := jobs.Start(t.Context(), session.Job{Command: "work"}, tool.Work{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return j.ID
}

// rowOf returns the job as the session's row has it, and whether a restart would recover the session.
func rowOf(t *testing.T, w *world, id session.JobID) (j session.Job, unfinished bool) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		s, ok, err := r.Session("ses_a")
		if err != nil || !ok || s.FindJob(id) == nil {
			return errors.Join(err, errors.New("no such job"))
		}
		j = *s.FindJob(id)
		ids, err := r.Unfinished(0)
		unfinished = len(ids) > 0
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return j, unfinished
}

// A job is recorded before it starts, and its end whatever ends it.
func TestJobsEnd(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		run  func(context.Context) tool.JobEnd
		end  func(w *world, jobs tool.Jobs, id session.JobID) error
		want session.JobStatus
		exit bool
	}{
		"by itself": {
			func(context.Context) tool.JobEnd { return tool.JobEnd{Exit: &three} }, nil, session.JobEndedItself,
			true,
		},
		"late": {
			func(context.Context) tool.JobEnd { return tool.JobEnd{Exit: &three, TimedOut: true} }, nil,
			session.JobTimedOut, false,
		},
		"badly": {
			func(context.Context) tool.JobEnd { return tool.JobEnd{Error: "no shell"} }, nil, session.JobFailed,
			false,
		},
		"panic": {func(context.Context) tool.JobEnd { panic("oh") }, nil, session.JobFailed, false},
		"cancelled": {untilStopped, func(_ *world, jobs tool.Jobs, id session.JobID) error {
			_, err := jobs.Cancel(context.Background(), id)
			return err
		}, session.JobCancelled, false},
		"interrupted by the user": {untilStopped, func(w *world, _ tool.Jobs, _ session.JobID) error {
			return w.engine.Interrupt(context.Background(), "ses_a")
		}, session.JobCancelled, false},
		"with the process": {untilStopped, func(w *world, _ tool.Jobs, _ session.JobID) error {
			return w.engine.Close(context.Background())
		}, session.JobInterrupted, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, jobs := jobWorld(t)
				defer w.close(t)
				id := startJobOf(t, jobs, c.run)
				if c.end != nil {
					if j, marked := rowOf(t, w, id); j.Status != session.JobRunning || !marked {
						t.Errorf("while it runs: %+v %v", j, marked)
					}
					if err := c.end(w, jobs, id); err != nil {
						t.Fatal(err)
					}
				}
				if j, err := jobs.Wait(t.Context(), id, time.Hour); err != nil || j.Status != c.want {
					t.Errorf("%+v %v", j, err)
				}
				j, marked := rowOf(t, w, id)
				if j.Status != c.want || (j.Exit != nil) != c.exit || j.Time.Ended == 0 || marked {
					t.Errorf("%+v, session to be recovered: %v", j, marked)
				}
			})
		})
	}
}

// The jobs of a killed process are shown as interrupted at once, and recorded as such by the next process.
func TestJobsOfAKilledProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, jobs := jobWorld(t)
		old := w.process
		id := startJobOf(t, jobs, untilStopped)
		w.kill(true)
		jobs = w.engine.Jobs.ForSession("ses_a")
		if all, err := jobs.List(t.Context()); err != nil || len(all) != 1 || all[0].Status != session.JobInterrupted {
			t.Errorf("%+v %v", all, err)
		}
		if _, err := w.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		if j, marked := rowOf(t, w, id); j.Status != session.JobInterrupted || marked {
			t.Errorf("%+v %v", j, marked)
		}
		w.close(t)
		_ = old.engine.Close(t.Context())
	})
}

func TestJobsAreBounded(t *testing.T) {
	const sessionJobs = 8
	synctest.Test(t, func(t *testing.T) {
		w, jobs := jobWorld(t)
		for range sessionJobs {
			startJobOf(t, jobs, untilStopped)
		}
		_, err := jobs.Start(t.Context(), session.Job{}, tool.Work{Run: untilStopped})
		if err == nil || !strings.Contains(err.Error(), "which is the limit") {
			t.Error(err)
		}
		all, _ := jobs.List(t.Context())
		if len(all) != sessionJobs {
			t.Errorf("%d jobs are recorded", len(all))
		}
		w.close(t)
		if _, err := jobs.Start(t.Context(), session.Job{}, tool.Work{Run: untilStopped}); err == nil ||
			!strings.Contains(err.Error(), "shutting down") {
			t.Error(err)
		}
	})
}

// A session neither sees nor ends the jobs of another.
func TestJobsBelongToTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, jobs := jobWorld(t)
		defer w.close(t)
		ended := false
		id := startJobOf(t, jobs, func(ctx context.Context) tool.JobEnd {
			defer func() { ended = true }()
			return untilStopped(ctx)
		})
		if _, err := w.engine.Commands.CreateSession(t.Context(),
			admit.CreateRequest{ID: "ses_b", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		other := w.engine.Jobs.ForSession("ses_b")
		if _, err := other.Cancel(t.Context(), id); err == nil {
			t.Error("another session ended the job")
		}
		if _, ok := other.ReadTail(id, 10); ok {
			t.Error("another session read the job's output")
		}
		if err := w.engine.Interrupt(t.Context(), "ses_b"); err != nil {
			t.Fatal(err)
		}
		if j, err := jobs.Wait(t.Context(), id, time.Minute); err != nil || j.Status != session.JobRunning {
			t.Errorf("%+v %v", j, err)
		}
		if err := w.engine.Commands.DeleteSession(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		if !ended {
			t.Error("the job still runs after its session was deleted")
		}
	})
}

// Clients list jobs, wait for them and end them; an unknown job is not found.
func TestJobsOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, jobs := jobWorld(t)
		defer w.close(t)
		id := startJobOf(t, jobs, untilStopped)
		if all, err := w.engine.Jobs.List(t.Context(), "ses_a"); err != nil || len(all) != 1 || all[0].ID != id {
			t.Errorf("%+v %v", all, err)
		}
		if j, err := w.engine.Jobs.Wait(t.Context(), "ses_a", id, time.Minute); err != nil ||
			j.Status != session.JobRunning {
			t.Errorf("%+v %v", j, err)
		}
		for range 2 {
			if j, err := w.engine.Jobs.Cancel(t.Context(), "ses_a", id); err != nil ||
				j.Status != session.JobCancelled {
				t.Errorf("%+v %v", j, err)
			}
		}
		if j, err := w.engine.Jobs.Wait(t.Context(), "ses_a", id, time.Minute); err != nil ||
			j.Status != session.JobCancelled {
			t.Errorf("%+v %v", j, err)
		}
		for _, c := range []struct {
			session session.ID
			job     session.JobID
		}{{"ses_a", "job_none"}, {"ses_none", id}} {
			_, err := w.engine.Jobs.Get(t.Context(), c.session, c.job)
			_, err2 := w.engine.Jobs.Cancel(t.Context(), c.session, c.job)
			_, err3 := w.engine.Jobs.ReadOutput(t.Context(), c.session, c.job, task.Range{Bytes: 1})
			for _, err := range []error{err, err2, err3} {
				if !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
					t.Errorf("%+v: %v", c, err)
				}
			}
		}
	})
}
