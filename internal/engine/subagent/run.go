package subagent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// IsAllowed implements tool.Tasks.
func (c *callTasks) IsAllowed(ctx context.Context, agent string) (bool, error) {
	if slices.Contains(c.caller.Chosen, agent) {
		return true, nil
	}
	in, _, err := c.findPrompt(ctx)
	return in != nil, err
}

// RunTask implements tool.Tasks.
func (c *callTasks) RunTask(ctx context.Context, t tool.Task) (tool.TaskResult, error) {
	child, err := c.openChild(ctx, t)
	if err != nil {
		return tool.TaskResult{}, err
	}
	model := c.modelOf(child)
	out := tool.TaskResult{TaskSession: tool.TaskSession{
		ParentID: c.caller.Session.ID, SessionID: child.ID,
		Model: tool.TaskModel{ModelID: model.ID, ProviderID: model.ProviderID},
	}}
	c.caller.Progress(tool.Output{Title: t.Description, Structured: tool.EncodeObject(out.TaskSession)})
	end, err := c.readEnd(ctx, child.ID)
	if err == nil && !end.reached {
		end, err = c.awaitEnd(ctx, child.ID, t)
	}
	if err != nil {
		return tool.TaskResult{}, err
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
	_, err := c.Commands.AdmitPrompt(ctx, command.PromptRequest{
		SessionID: child, ID: c.promptID(), Prompt: session.Prompt{Text: t.Prompt, Files: c.caller.Files},
		Delivery: session.Queue, Asks: c.caller.Asks, Recovery: c.caller.Recovery,
	})
	if err != nil {
		return taskEnd{}, errorForModel(err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.Limits.Time, errTimeUp)
	defer cancel()
	takeBack := c.caller.Yield(child)
	workErr := c.Wait(limited, child)
	takeBack(ctx)
	if errors.Is(workErr, cause.ErrShutdown) {
		<-limited.Done() // the work of the caller ends too: the next process continues both
	}
	if limited.Err() != nil {
		return taskEnd{}, c.stopChild(ctx, context.Cause(limited), child)
	}
	end, err := c.readEnd(ctx, child)
	if err == nil && !end.reached {
		end = taskEnd{reached: true, failure: tool.Failf("The task was not finished: its session %s is idle.", child)}
		if workErr != nil {
			end.failure = tool.Failf("The task was not finished: %v. Its session is %s.", workErr, child)
		}
	}
	return end, err
}

var errTimeUp = errors.New("the time for the task is over")

// stopTime bounds the wait for a child session that is stopped.
const stopTime = 30 * time.Second

// stopChild ends the work of the child, unless it ends with the process and the next one continues it. It returns the
// error of the call.
func (c *callTasks) stopChild(ctx context.Context, why error, child session.ID) error {
	if errors.Is(why, cause.ErrShutdown) {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := c.Stop(ctx, child); err != nil {
		c.Journal.Logger.Warn("cannot stop the session of a task", "session", child, "error", err)
	}
	if errors.Is(why, errTimeUp) {
		return tool.Failf("The task was stopped: it took longer than %s. "+
			"To continue it, call task with the task_id %s.", c.Limits.Time, child)
	}
	return why
}
