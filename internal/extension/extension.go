// Package extension declares the points at which outside code may look at the work of a session, or change it: plugins,
// hooks, and programs in Go that embed cairn. Each point is a function over a small value. The engine calls a Chain at
// these points and nowhere else; what implements them is not known to it.
//
// What an extension changes is recorded by the engine where it takes effect, with the extension's id. Replay and recovery
// read the record: a chain is never called twice for the same thing.
package extension

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Extension is one piece of outside code. A nil function has no interest in its point. A function gets a value of its
// own; to change it, it replaces members and leaves alone what they refer to. It returns when its context ends. Functions
// are called concurrently, also the same one.
//
// An error of a function fails what the point guards: the prompt is not admitted, the call does not run, the permission
// is denied, the result is a failure, the variables are not set and the process does not start, the typed command is refused. At the other points it is
// logged, and the value stays as it was.
type Extension struct {
	ID string // for people and for the record, such as "hook/PreToolUse" or "plugin/opencode-dcp"
	// MayAllow: the user's configuration lets it allow what would be asked. Without it, Allow means no decision.
	MayAllow bool
	// Timeout bounds one call of one of its functions; 0 shares the budget of the chain at the point with the others.
	Timeout time.Duration
	// Lenient: its failure fails nothing, also where others guard.
	Lenient bool

	Prompt      func(context.Context, *Prompt) error      // a prompt, before it is admitted
	Options     func(context.Context, *Options) error     // a request, before it is sent
	Definition  func(context.Context, *Definition) error  // of a tool, before it is offered
	Call        func(context.Context, *Call) error        // a call, before it is recorded and runs
	Result      func(context.Context, *Result) error      // of a call that succeeded, before it is bounded and recorded
	Permission  func(context.Context, *Permission) error  // that the rules do not deny
	Environment func(context.Context, *Environment) error // of a command or a terminal, before it starts
	Compaction  func(context.Context, *Compaction) error  // before a summary is asked for
	Proceed     func(context.Context, *Proceed) error     // after a compaction, before the model goes on
	System      func(context.Context, *System) error      // the system context, at each boundary
	Messages    func(context.Context, *Messages) error    // of a request, before it is built
	Stop        func(context.Context, *Stop) error        // before the work of a session ends
	Command     func(context.Context, *Command) error     // that a caller typed, after its template was expanded
	Text        func(context.Context, *Text) error        // of an answer, when the model has ended it
	// Event is told of what has happened. It changes and guards nothing, and nothing waits for it.
	Event func(context.Context, *Event) error
	// Observe is told that an activity begins, by the goroutine that does it: it returns at once.
	Observe func(context.Context, Activity) Observation
}

// Point names a point, for messages and for the record.
type Point string

// The points.
const (
	PointPrompt      Point = "prompt"
	PointOptions     Point = "options"
	PointDefinition  Point = "definition"
	PointCall        Point = "call"
	PointResult      Point = "result"
	PointPermission  Point = "permission"
	PointEnvironment Point = "environment"
	PointCompaction  Point = "compaction"
	PointProceed     Point = "proceed"
	PointSystem      Point = "system"
	PointMessages    Point = "messages"
	PointStop        Point = "stop"
	PointCommand     Point = "command"
	PointText        Point = "text"
	PointEvent       Point = "event"
)

// Prompt is a prompt of a caller. Prompt can change.
type Prompt struct {
	SessionID session.ID
	ParentID  session.ID // of a subagent
	MessageID session.MessageID
	Prompt    session.Prompt
}

// Options are those of a request. All but the first group can change. A nil number is the provider's default.
type Options struct {
	SessionID session.ID
	Agent     string
	Model     session.ModelRef
	MessageID session.MessageID // of the newest prompt

	Temperature *float64
	TopP        *float64
	TopK        *int
	MaxTokens   *int
	Options     map[string]jsontext.Value // of the provider, as in its configuration
	Headers     map[string]string         // added to those of the provider
}

// Definition describes a tool to the model. Description and Schema can change.
type Definition struct {
	Tool        string
	Description string
	Schema      jsontext.Value
}

// Call is a call of a tool. Input can change, within the schema of the tool; Effect can become stricter, or Allow. Context
// and Halt can be set.
type Call struct {
	SessionID session.ID
	MessageID session.MessageID // of the newest prompt
	CallID    string
	Agent     string
	Tool      string
	Input     jsontext.Value // an object
	Effect    session.Effect // "" leaves the decision to the rules
	Reason    string         // of the effect, for the model and for people
	Context   string         // what the model reads after the result of the call
	Halt      string         // why the work ends after the calls of this answer; "" does not end it
}

// Result is the result of a call that succeeded. Title, Content and Metadata can change, and Halt can be set.
type Result struct {
	SessionID session.ID
	CallID    string
	Agent     string
	Tool      string
	Input     jsontext.Value // that the call ran with
	Title     string
	Content   []session.ToolContent
	Metadata  jsontext.Value // an object, or nil
	Halt      string         // why the work ends after the calls of this answer; "" does not end it
}

// Permission is a request that the rules allow or that people would be asked. Effect can change: to Deny, to Ask, and to
// Allow.
type Permission struct {
	SessionID session.ID
	MessageID session.MessageID // "" for a request of the engine itself
	CallID    string
	Agent     string
	Tool      string         // of the call
	Input     jsontext.Value // that the call runs with
	Action    string
	Resources []string
	Metadata  jsontext.Value
	Effect    session.Effect
	Reason    string // of the effect
}

// Environment is that of a process. Variables, which are added to those that it has, can change. Those of cairn and of
// OpenCode, and keys of providers, never pass.
type Environment struct {
	SessionID session.ID // "" for a terminal
	CallID    string
	Directory string
	Variables map[string]string
}

// Compaction is the request for a summary. Context is added to the instructions for it. Refuse, if set, says why there is
// no compaction; only one that a caller asked for can be refused.
type Compaction struct {
	SessionID    session.ID
	Manual       bool   // a caller asked for it
	Instructions string // of the caller
	Context      []string
	Refuse       string
}

// Proceed decides whether the model goes on by itself after a compaction.
type Proceed struct {
	SessionID session.ID
	Agent     string
	Model     session.ModelRef
	Overflow  bool // the compaction followed a request that the provider refused as too large
	Enabled   bool
}

// System is what an extension adds to the system context of a session. Text is the whole of it; it becomes a source of
// its own, which the model is told of when it changes. Other texts of the context are not shown and cannot change.
type System struct {
	SessionID session.ID
	Agent     string
	Model     session.ModelRef
	Text      string
}

// Messages are those that a request is made of, oldest first. The list can be replaced, with other messages in it; the
// session keeps its own. A request whose earlier messages change costs the provider's cache of them.
type Messages struct {
	SessionID session.ID
	Messages  []session.Message
}

// Stop is the end of the work of a session. Continue, if set, is the next message to the model, and the work goes on.
type Stop struct {
	SessionID session.ID
	ParentID  session.ID // of a subagent
	Agent     string
	Again     bool   // an extension has made the work go on since the newest prompt of a caller
	Text      string // the last answer
	Continue  string
}

// Command is a command of a caller with the prompt that its template became. Prompt can change.
type Command struct {
	SessionID session.ID // "" if the prompt is for no session yet
	Name      string
	Arguments string // as typed
	Prompt    session.Prompt
}

// Text is one text of an answer. Text can change; live readers have seen the model's own.
type Text struct {
	SessionID session.ID
	MessageID session.MessageID // of the answer
	PartID    session.PartID
	Text      string
}

// Event is something that has happened.
type Event struct {
	Type      EventType
	SessionID session.ID
	ParentID  session.ID // of a subagent
	Agent     string
	// Cause is startup or resume; removed or archived; manual or auto; permission or question; completed or interrupted;
	// the session.Reason of a failure.
	Cause    string
	Text     string        // for people, or the summary
	Duration time.Duration // of work that ended
}

// EventType is the kind of an Event.
type EventType string

// The types of events.
const (
	EventSessionStarted  EventType = "session-started" // a session was created, or is used for the first time in this process
	EventSessionEnded    EventType = "session-ended"   // a session was removed or archived
	EventSubagentStarted EventType = "subagent-started"
	EventCompacted       EventType = "compacted"
	EventAsked           EventType = "asked" // the work waits for a person
	EventWorkEnded       EventType = "work-ended"
	EventWorkFailed      EventType = "work-failed"
)

// Causes of events.
const (
	CauseCreated    = "startup"
	CauseResumed    = "resume"
	CauseRemoved    = "removed"
	CauseArchived   = "archived"
	CauseManual     = "manual"
	CauseAuto       = "auto"
	CausePermission = "permission"
	CauseQuestion   = "question"
	CauseCompleted  = "completed"
	CauseStopped    = "interrupted" // by a person
)
