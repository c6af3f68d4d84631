package task

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// startJob makes the work on the task a job of the caller's session, unless the call did before.
func (c *callTasks) startJob(ctx context.Context, child session.ID, t tool.Task) (session.JobID, error) {
	if c.caller.Session.ParentID != "" {
		return "", tool.Failf("A subagent has no tasks in the background; leave background out.")
	}
	jobs, err := c.caller.Jobs.List(ctx)
	if err != nil {
		return "", err
	}
	for _, j := range jobs {
		if j.Task != nil && j.Task.PromptID == c.promptID() {
			return j.ID, nil
		}
	}
	if err := c.admitPrompt(ctx, child, t); err != nil {
		return "", err
	}
	work := c.taskIn(child)
	j, err := c.caller.Jobs.Start(ctx, session.Job{
		Command: "@" + t.Agent + " " + t.Description, Description: t.Description,
		Directory: c.caller.Session.Location.Directory, Task: &work,
	}, c.WorkOn(work))
	if err != nil {
		return "", errors.Join(err, c.Commands.WithdrawPrompt(context.WithoutCancel(ctx), child, c.promptID()))
	}
	return j.ID, nil
}

// WorkOn returns the work of a job that is the task. Its prompt is admitted.
func (r *Runner) WorkOn(t session.TaskJob) tool.Work {
	return tool.Work{Run: func(ctx context.Context) tool.JobEnd {
		nothing := func() {}
		end, err := r.readEnd(ctx, t)
		if err == nil && !end.reached {
			end, err = r.awaitWork(ctx, t, func() { r.Wake(t.SessionID) }, nothing)
		}
		if err == nil {
			err = end.failure
		}
		exit := 0
		if err != nil {
			exit = 1
			return tool.JobEnd{Exit: &exit, Report: tool.FormatTask(t.SessionID, tool.TaskFailed, err.Error())}
		}
		return tool.JobEnd{Exit: &exit, Report: tool.FormatTask(t.SessionID, tool.TaskCompleted, end.text)}
	}}
}
