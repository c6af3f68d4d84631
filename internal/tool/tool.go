// Package tool holds what a tool is, the registry of a Location's tools, and how one call of a tool is settled:
// checked, run, bounded, and turned into exactly one outcome.
//
// A tool knows nothing of sessions, stores or engines. It gets a Call with its own identity and a function to ask for
// permission, and returns an Output or an error. An error is information for the model, never a failure of ours.
package tool

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// CallVariable is the environment variable that marks the processes of a tool call. A command gets it with a random
// value; the server refuses API requests from a process that carries it, and the command's descendants are found by it.
const CallVariable = "CAIRN_CALL"

// Tool does one thing for the model. Its methods are safe for concurrent use and its Definition never changes.
type Tool interface {
	Definition() Definition
	// Run does it. All asking happens before the first side effect: a call whose ask was never answered is run again
	// after a restart. When ctx ends, Run stops what it started, children included, and returns promptly; what it
	// has to show by then it may return beside the error.
	Run(ctx context.Context, call Call) (Output, error)
}

// Definition is what there is to know about a tool before it is called.
type Definition struct {
	Name        string         // ^[A-Za-z][A-Za-z0-9_-]{0,63}$
	Description string         // for the model
	Schema      jsontext.Value // JSON Schema of the input, an object
	Action      string         // the permission action; "" is the name
	ReadOnly    bool           // it changes nothing anywhere, so running it again is harmless
	Bounded     bool           // it keeps its text within limits of its own, so it is cut again at twice ours only
}

// Call is one call with the identity that the tool acts under.
type Call struct {
	SessionID session.ID
	MessageID session.MessageID
	PartID    session.PartID
	CallID    string
	Agent     string
	Name      string
	Input     jsontext.Value // a JSON object that fits the schema
	Since     int64          // where what the model sees of the session begins; a compaction makes it another; 0: unknown

	// Ask returns nil when the action is allowed, now or after somebody said so, and blocks until then. Its errors
	// are *Denied, or the end of ctx.
	Ask func(ctx context.Context, r Request) error
	// Question puts the questions to the people that the model works for and waits for the answers, a list for each
	// question. Its errors are those of Ask.
	Question func(ctx context.Context, qs []session.Question) ([][]string, error)
	// Todos returns the session's list of todos as it is now.
	Todos func(ctx context.Context) ([]session.Todo, error)
	// Results goes through the results of the session's calls that succeeded, the newest first, until visit has enough;
	// those of long ago it leaves out. Nil: none are known.
	Results func(ctx context.Context, visit func(name string, structured jsontext.Value) bool) error
	// Progress shows how the call comes along. It never blocks and may drop what comes too fast.
	Progress func(o Output)
	Jobs     Jobs // nil: nothing runs in the background here
}

// Request asks for an action on resources.
type Request struct {
	Action    string
	Resources []string
	Save      []string       // what "always" will allow, as patterns; empty: always is not offered
	Metadata  jsontext.Value // shown to whoever decides, e.g. {"diff": "…"}
	Seen      permission.Seen
}

// Output is what came of a call.
type Output struct {
	Title       string // one short line for people
	Content     []session.ToolContent
	Structured  jsontext.Value // an object for programs; may be nil
	OutputPaths []string       // files that hold more
	Attachments []session.File
	// Todos becomes the session's list of todos together with the call's settlement, if it succeeds; nil leaves it as it
	// is.
	Todos []session.Todo
}

// ActionQuestion is the permission to ask people questions.
const ActionQuestion = "question"

// Denial says that permission was refused. Feedback, when not empty, is for the model, which goes on; without it the
// work stops.
type Denial struct {
	Action    string
	Resources []string
	Feedback  string
	Rule      *session.Rule // the rule that denied; nil when somebody did
	Stop      bool          // the user declined: no further turn is made
	ByPolicy  bool          // what was declared for asks answered, nobody did
}

// rejected is what a call hears to which somebody said no, in OpenCode's words: clients look for them.
const rejectedText = "The user rejected permission to use this specific tool call"

func (d *Denial) Error() string {
	switch {
	case d.Action == ActionQuestion && d.Rule == nil && d.Feedback != "":
		return "the question was not answered: " + d.Feedback
	case d.Action == ActionQuestion && d.Rule == nil && d.ByPolicy:
		return "the question was denied: nobody is there to answer it"
	case d.Action == ActionQuestion && d.Rule == nil:
		return "The user dismissed this question"
	case d.Rule != nil:
		return fmt.Sprintf(
			"permission denied: the rule {action %q, resource %q, deny} forbids %s %v", d.Rule.Action, d.Rule.Resource, d.Action,
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

// Failure is an error whose words are written for the model.
type Failure struct{ Message string }

func (f *Failure) Error() string { return f.Message }

// Failf makes a Failure.
func Failf(format string, args ...any) error { return &Failure{fmt.Sprintf(format, args...)} }

// Settlement is the one outcome of a call: an Output that fits the limits, or an Error. Beside an Error, Output holds
// what the tool had to show by then, also within the limits; it is empty for a call that never ran.
type Settlement struct {
	Output Output
	Error  *session.Failure
	Denial *Denial // set when the error is a refused permission
}
