package task

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// IsAllowed implements tool.Tasks.
func (c *callTasks) IsAllowed(ctx context.Context, agent string) (bool, error) {
	if slices.Contains(c.caller.Chosen, agent) {
		return true, nil
	}
	in, _, err := c.findPrompt(ctx, c.promptID())
	return in != nil, err
}

// RunTask implements tool.Tasks.
func (c *callTasks) RunTask(ctx context.Context, t tool.Task) (tool.TaskResult, error) {
	c.caller.Await(ctx)
	child, err := c.openChild(ctx, t)
	c.caller.Begun()
	if err != nil {
		return tool.TaskResult{}, err
	}
	model := c.modelOf(child)
	out := tool.TaskResult{TaskSession: tool.TaskSession{
		ParentID: c.caller.Session.ID, SessionID: child.ID,
		Model: tool.TaskModel{ModelID: model.ID, ProviderID: model.ProviderID},
	}}
	c.caller.Progress(tool.Output{Title: t.Description, Structured: tool.EncodeObject(out.TaskSession)})
	if t.Background {
		job, err := c.startJob(ctx, child.ID, t)
		out.Background, out.JobID = true, job
		return out, err
	}
	end, err := c.readEnd(ctx, c.taskIn(child.ID))
	if err == nil && !end.reached {
		end, err = c.awaitEnd(ctx, child.ID, t)
	}
	if err != nil {
		return out, err
	}
	out.Text = end.text
	return out, end.failure
}

// modelOf returns the model that the child session works with.
func (c *callTasks) modelOf(child *session.Session) session.ModelRef {
	if child.Model != nil {
		return *child.Model
	}
	return c.caller.Model
}

// awaitEnd has the child work on the prompt and returns how that ended.
func (c *callTasks) awaitEnd(ctx context.Context, child session.ID, t tool.Task) (taskEnd, error) {
	if err := c.admitPrompt(ctx, child, t); err != nil {
		return taskEnd{}, err
	}
	takeBack := func(context.Context) {}
	return c.awaitWork(ctx, c.taskIn(child), func() { takeBack = c.caller.Yield(child) }, func() { takeBack(ctx) })
}
