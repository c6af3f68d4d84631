package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Limits bound the tasks of sessions. Each is required.
type Limits struct {
	Depth    int           // how many sessions work for each other, one below the other; 1 is no subagent of a subagent
	Children int           // child sessions of a session
	Time     time.Duration // of one task
}

// Runner runs the tasks of all calls.
type Runner struct {
	Journal   *turnlog.Journal
	Commands  *admit.Commands
	Locations scope.Scopes
	Limits    Limits
	// Wait returns when the session is idle, with the error of the work that it waited for.
	Wait func(ctx context.Context, id session.ID) error
	// Wake makes the session look at its inbox, and continue work that was cut off.
	Wake func(id session.ID)
	// Stop ends all work of the session, and waits until that is recorded.
	Stop func(ctx context.Context, id session.ID) error
}

// ParentCall is the call that hands work to a subagent.
type ParentCall struct {
	Jobs     tool.Jobs        // of the session of the call
	Session  *session.Session // of the call
	PartID   session.PartID   // of the call
	Model    session.ModelRef // that made the call
	Asks     session.AskPolicy
	Recovery session.Recovery
	// Restricted: the work of the call is restricted, and so is the work of the task.
	Restricted bool
	Chosen     []string       // the agents that the user asked for: they need no permission
	Files      []session.File // of the prompt
	Progress   func(o tool.Output)
	// Await returns when the calls before have begun their tasks, and Begun lets the next call do so: children are created
	// in the order of the calls.
	Await func(ctx context.Context)
	Begun func()
	// Yield gives up the caller's execution slots while it waits for the child, and returns what takes them back.
	Yield func(child session.ID) func(ctx context.Context)
}

// ForCall returns the tasks of a call.
func (r *Runner) ForCall(c ParentCall) tool.Tasks { return &callTasks{r, c} }

// callTasks implements tool.Tasks.
type callTasks struct {
	*Runner
	caller ParentCall
}

// childID is the session of a task that begins.
func (c *callTasks) childID() session.ID {
	return session.TaskID(c.caller.PartID)
}

// promptID is the prompt of the task.
func (c *callTasks) promptID() session.MessageID {
	return session.TaskPromptID(c.caller.PartID)
}

// IsAwaiting reports whether a call of the turn waits for the work of the child session.
func IsAwaiting(a *session.Assistant, child session.ID) bool {
	return slices.ContainsFunc(a.Tools(), func(c *session.Tool) bool {
		if c.Name != tool.NameTask || c.State.Status != session.ToolRunning {
			return false
		}
		var in struct {
			Continue session.ID `json:"task_id"`
		}
		_ = json.Unmarshal(c.RunsWith(), &in) // an invalid call begins no work
		return cmp.Or(in.Continue, session.TaskID(c.PartID)) == child
	})
}

// errorForModel makes an error about the request one that the model can read.
func errorForModel(err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return tool.Failf("The task could not be started: %s.", e.Message)
	}
	return err
}
