package tool

import (
	"context"

	"github.com/cairn-dev/cairn/internal/session"
)

// NameTask is the name of the tool that hands work to a subagent. A call of it that is cut off before its result is
// known is run again: Tasks continues what it began.
const NameTask = "task"

// Tasks does the work of a call in a child session. Errors are for the model, or the cause of ctx.
type Tasks interface {
	// IsAllowed reports whether the call needs no permission: the user asked for the agent, or the call began its work
	// before, in an earlier process.
	IsAllowed(ctx context.Context, agent string) (bool, error)
	// RunTask begins the work, unless the call did before, and returns its result when it has ended. If ctx ends, it
	// stops the work, except at the end of the process: the next process continues it. Work in the background is a job.
	RunTask(ctx context.Context, t Task) (TaskResult, error)
}

// Task is work for a subagent.
type Task struct {
	Description string     // a few words, for the title
	Prompt      string     // all that the subagent is told
	Agent       string     // which exists and may be a subagent
	Continue    session.ID // the child session to continue; "" begins another one
	Background  bool       // RunTask returns at once, and a prompt of the caller's session brings the report
}

// TaskResult is the answer of a subagent.
type TaskResult struct {
	TaskSession
	Text string // the last text of its last answer; may be ""
}

// TaskSession says where a subagent works. It is the structured result of a call, in OpenCode's shape: clients open the
// session by it, also while it works.
type TaskSession struct {
	ParentID  session.ID `json:"parentSessionId"`
	SessionID session.ID `json:"sessionId"`
	Model     TaskModel  `json:"model"`

	Background bool          `json:"background,omitzero"`
	JobID      session.JobID `json:"jobId,omitzero"` // of work in the background
}

// TaskModel is the model of a subagent, with OpenCode's names.
type TaskModel struct {
	ModelID    string `json:"modelID"`
	ProviderID string `json:"providerID"`
}

// TaskState is the state of a task.
type TaskState string

// The states of a task.
const (
	TaskRunning   TaskState = "running"
	TaskCompleted TaskState = "completed"
	TaskFailed    TaskState = "error"
)

// FormatTask returns what the model sees of a task, in OpenCode's form. The text is the report, or why it failed.
func FormatTask(id session.ID, state TaskState, text string) string {
	element := "task_result"
	if state == TaskFailed {
		element = "task_error"
	}
	return `<task id="` + string(id) + `" state="` + string(state) + "\">\n<" + element + ">\n" + text + "\n</" + element +
		">\n</task>"
}
