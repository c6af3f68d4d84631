package task

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// taskIn returns the task of the call in the child session.
func (c *callTasks) taskIn(child session.ID) session.TaskJob {
	return session.TaskJob{
		SessionID: child, PromptID: c.promptID(), Asks: c.caller.Asks, Recovery: c.caller.Recovery,
		Restricted: c.caller.Restricted,
	}
}

// admitPrompt gives the child its prompt, once.
func (c *callTasks) admitPrompt(ctx context.Context, child session.ID, t tool.Task) error {
	_, err := c.Commands.AdmitPrompt(ctx, admit.PromptRequest{
		SessionID: child, ID: c.promptID(), Delivery: session.Queue,
		Prompt: session.Prompt{Text: t.Prompt, Files: c.caller.Files, Agent: t.Agent},
		Asks:   c.caller.Asks, Recovery: c.caller.Recovery, Hold: t.Background, Restricted: c.caller.Restricted, UnderWay: true,
	})
	return errorForModel(err)
}

// awaitWork waits until the work on the task has ended and returns how. before and after are called around the wait.
func (r *Runner) awaitWork(ctx context.Context, t session.TaskJob, before, after func()) (taskEnd, error) {
	child := t.SessionID
	limited, cancel := context.WithTimeoutCause(ctx, r.Limits.Time, errTimeUp)
	defer cancel()
	before()
	workErr := r.Wait(limited, child)
	after()
	if errors.Is(workErr, turnlog.ErrShutdown) {
		<-limited.Done() // the work of the caller ends too: the next process continues both
	}
	if limited.Err() != nil {
		return taskEnd{}, r.stopChild(ctx, context.Cause(limited), child)
	}
	end, err := r.readEnd(ctx, t)
	if err != nil || end.reached {
		return end, err
	}
	// The work stopped before its end. The log says why also if it stopped before the wait began.
	why, err := r.findHalt(ctx, t)
	switch {
	case err != nil:
		return taskEnd{}, err
	case why == "" && workErr != nil:
		why = workErr.Error()
	case why == "":
		return taskEnd{
			reached: true, failure: tool.Failf("The task was not finished: its session %s is idle.", child),
		}, nil
	}
	return taskEnd{
		reached: true, failure: tool.Failf("The task was not finished: %s. Its session is %s.", why, child),
	}, nil
}

// findHalt returns why the session's work last stopped between two turns since it was prompted, "" if it never did.
func (r *Runner) findHalt(ctx context.Context, t session.TaskJob) (why string, err error) {
	err = r.Journal.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		in, ok, err := store.FindInput(r, t.PromptID)
		if err != nil || !ok {
			return err
		}
		halts, err := eventlog.DecodeAll(r.Events(t.SessionID, in.AdmittedSeq, 0, session.KindInterrupted))
		if n := len(halts); n > 0 {
			why = halts[n-1].Data.(*session.Interrupted).Error.Message
		}
		return err
	})
	return why, err
}

var errTimeUp = errors.New("the time for the task is over")

// stopTime bounds the wait for a child session that is stopped.
const stopTime = 30 * time.Second

// stopChild ends the work of the child, unless it ends with the process and the next one continues it. It returns the
// error of the call.
func (r *Runner) stopChild(ctx context.Context, why error, child session.ID) error {
	if errors.Is(why, turnlog.ErrShutdown) {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := r.Stop(ctx, child); err != nil {
		r.Journal.Logger.Warn("cannot stop the session of a task", "session", child, "error", err)
	}
	if errors.Is(why, errTimeUp) {
		return tool.Failf("The task was stopped: it took longer than %s. "+
			"To continue it, call task with the task_id %s.", r.Limits.Time, child)
	}
	return why
}
