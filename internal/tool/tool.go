// Package tool defines tools, the registry of a Location's tools, and the settlement of a call: check, run, bound, and
// one outcome.
//
// A tool depends on no store and no engine: what it needs of its session are functions of its Call. It returns an
// Output or an error. An error is information for the model, not an internal error.
package tool

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// CallVariable is the environment variable that marks the processes of a tool call. A command gets it with a random
// value; the server refuses API requests from a process that carries it, and the command's descendants are found by it.
const CallVariable = "CAIRN_CALL"

// RequestHeader is the header of HTTP requests that tools of this process make. The server refuses requests with it.
const RequestHeader = "Cairn-Tool"

// Tool is a tool that the model can call. Its methods are safe for concurrent use; its Definition never changes.
type Tool interface {
	Definition() Definition
	// Run executes a call. It asks for all permissions before the first side effect, because a call that was interrupted
	// while asking is run again after a restart. When ctx ends, Run stops everything it started, including child
	// processes, and returns promptly; it may return a partial Output with the error.
	Run(ctx context.Context, call Call) (Output, error)
}

// Definition describes a tool.
type Definition struct {
	Name        string         // ^[A-Za-z][A-Za-z0-9_-]{0,63}$
	Description string         // for the model
	Schema      jsontext.Value // JSON Schema of the input, an object
	Action      string         // permission action; "" means the name
	Bounded     bool           // the tool bounds its text itself; the registry cuts it at twice the limits only
}

// Call is one call and the identity under which it runs.
type Call struct {
	SessionID session.ID
	MessageID session.MessageID
	PartID    session.PartID
	CallID    string
	Agent     string
	Name      string
	Input     jsontext.Value // a JSON object that fits the schema
	// identifies the part of the session that the model sees; a compaction changes it; 0 if unknown
	Since int64

	// Ask returns nil when the action is allowed, by a rule or by a reply, for which it blocks. Its errors are *Denial or
	// the cause of ctx.
	Ask func(ctx context.Context, r Request) error
	// Question shows questions to the user and returns a list of answers for each. Its errors are those of Ask.
	Question func(ctx context.Context, qs []session.Question) ([][]string, error)
	// Confine returns how a command of the call is confined. Nil: not at all.
	Confine func(ctx context.Context) (Confinement, error)
	// Todos returns the current todo list of the session.
	Todos func(ctx context.Context) ([]session.Todo, error)
	// Results calls visit with the results of the session's successful calls, newest first, until it returns false. Old
	// results may be missing. Nil: no results are available.
	Results func(ctx context.Context, visit func(name string, structured jsontext.Value) bool) error
	// Progress reports the state of the call. It never blocks and may drop reports.
	Progress func(o Output)
	Jobs     Jobs // nil if background jobs are not available
	// Tasks does work in child sessions. Nil: that is not available.
	Tasks Tasks
	// SwitchAgent admits a prompt that selects another agent for the session's next turn. Nil: it cannot be switched.
	SwitchAgent func(ctx context.Context, agent, text string) error
	Plan        string // the file of the session's plan; "" without one
	// Files records what the call does to files. Nil: nothing is recorded.
	Files FileRecorder
	// Environment returns variables, by name, that a command in the directory gets besides its own. Nil: none.
	Environment func(ctx context.Context, directory string) (map[string]string, error)
	// Review sees the output of a call that succeeded before it is bounded, and returns what takes its place. By are
	// those who changed it; an error fails the call. Nil: the output stays.
	Review func(ctx context.Context, o Output) (out Output, by []string, err error)
}

// FileRecorder records what a call does to files before it does it, so that it can be shown and taken back.
type FileRecorder interface {
	// RecordWrites records changes that the call is about to make. It returns when they are durable.
	RecordWrites(ctx context.Context, writes []FileWrite) error
	// WatchTree records the state of the worktree before a command, which can change any file. The caller calls done
	// when the command has ended. If the beginning cannot be stored, the command must not run.
	WatchTree(ctx context.Context) (done func(), err error)
	// RecordUnknown records that the call may change files and that these changes are not known.
	RecordUnknown(ctx context.Context, reason string)
}

// FileWrite is the change of a regular file. Nil content: there is no file.
type FileWrite struct {
	Path          string // absolute, links resolved
	Before, After []byte
	Executable    bool // the file is, or was, executable
}

// Confinement says how the commands of a call are confined.
type Confinement struct {
	Mode session.SandboxMode
	// IfPossible: without a kernel that can do it, commands run unconfined. Else they do not run then.
	IfPossible bool
	// ReadOnly: commands write to their own temporary directories only. They do not run unconfined then.
	ReadOnly bool
	// Attended: people answer asks in the session, and what they approve runs outside of the sandbox.
	Attended bool
	// Outside: a person, a saved approval or a rule that names them permitted the directories outside of the Location
	// that the call asked for.
	Outside bool
	// Unread: the policy of the session, not a person, allowed the call to change files. Such an answer does not lift the
	// protection of any file.
	Unread bool
	// AllowsEdit reports whether a protected file can be changed without an ask, by its resource; with a slash at its
	// end, also everything below it. Nil: none can be.
	AllowsEdit func(resource string) bool
}

// Request is a request for permission for an action on resources.
type Request struct {
	Action    string
	Resources []string
	Hidden    []string       // further resources, which rules decide about too; neither stored nor shown, as they are long
	Save      []string       // patterns that the reply "always" allows; empty: "always" is not offered
	Metadata  jsontext.Value // shown with the request, e.g. {"diff": "…"}
	Command   permission.CommandContext
	Person    bool // only a person allows it, now; rules and saved approvals may deny it
	Outside   bool // the configuration lets the command run outside of the sandbox
}

// Output is the result of a call.
type Output struct {
	Title       string // a short line for people
	Content     []session.ToolContent
	Structured  jsontext.Value // an object for programs; may be nil
	OutputPaths []string       // files with more output
	Attachments []session.File
	// Visited are the files and directories that the call has read or changed, links resolved. Instruction files beside
	// them begin to apply.
	Visited []string
	// Todos replaces the todo list of the session in the same commit as the settlement, if the call succeeds; nil leaves
	// the list unchanged.
	Todos []session.Todo
}

// ActionQuestion is the permission to ask the user questions.
const ActionQuestion = "question"

// Denial is the refusal of a permission. With Feedback, the model gets the text and goes on; without, the turn ends.
type Denial struct {
	Action    string
	Resources []string
	Feedback  string
	Rule      *session.Rule // the rule that denied; nil if the user did
	Agent     string        // to which the rule applied; may be ""
	Stop      bool          // the user declined: no further turn follows
	ByPolicy  bool          // an ask policy declined, not a person
	Reason    string        // why a command asked although patterns could allow it, and how to write it; may be ""
}

// rejectedText is OpenCode's text for a refusal by the user, which clients look for.
const rejectedText = "The user rejected permission to use this specific tool call"

func (d *Denial) Error() string {
	text := d.formatRefusal()
	if d.Reason != "" {
		text += "; the command " + d.Reason
	}
	return text
}

func (d *Denial) formatRefusal() string {
	switch {
	case d.Action == ActionQuestion && d.Rule == nil && d.Feedback != "":
		return "the question was not answered: " + d.Feedback
	case d.Action == ActionQuestion && d.Rule == nil && d.ByPolicy:
		return "the question was denied: no person is available to answer it"
	case d.Action == ActionQuestion && d.Rule == nil:
		return "The user dismissed this question"
	case d.Rule != nil && d.Agent == session.AgentPlan && d.Action == d.Rule.Action && d.isOfPlan():
		return fmt.Sprintf("permission denied: the agent plan changes nothing but plans, so it may not %s %v; "+
			"the user leaves it by choosing another agent, such as build", d.Action, d.Resources)
	case d.Rule != nil:
		return fmt.Sprintf(
			"permission denied: the rule {action %q, resource %q, deny} forbids %s %v",
			d.Rule.Action,
			d.Rule.Resource,
			d.Action,
			d.Resources,
		)
	case d.ByPolicy && d.Feedback != "":
		return fmt.Sprintf("permission denied for %s %v: %s", d.Action, d.Resources, d.Feedback)
	case d.ByPolicy:
		return fmt.Sprintf("permission denied for %s %v", d.Action, d.Resources)
	case d.Feedback != "":
		return rejectedText + " with the following feedback: " + d.Feedback
	default:
		return rejectedText + "."
	}
}

// isOfPlan reports whether the rule is as the agent plan has them: about everything, or about the subagent that edits.
func (d *Denial) isOfPlan() bool {
	return d.Rule.Resource == "*" || d.Action == NameTask && d.Rule.Resource == "general"
}

// Failure is an error whose message is for the model.
type Failure struct{ Message string }

func (f *Failure) Error() string { return f.Message }

// Failf returns a Failure.
func Failf(format string, args ...any) error { return &Failure{fmt.Sprintf(format, args...)} }

// Settlement is the outcome of a call: an Output within the limits, or an Error. With an Error, Output is what the tool
// returned until then, also within the limits; it is empty for a call that did not run.
type Settlement struct {
	Output Output
	Error  *session.Failure
	Denial *Denial // set if permission was refused
	// Replaced says what Call.Review put in the place of the output; nil: it is the tool's own.
	Replaced *session.Replacement
}
