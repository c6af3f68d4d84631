// Package scope declares what the engine takes from a session's directory: its agents, models, tools, permission rules
// and system context, as one immutable Scope. The host implements Scopes; the engine's packages read a Scope and never
// learn how it was built.
//
// It also measures requests: how many tokens one is estimated to take, and how that compares with the limits of its
// model (window.go).
package scope

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Scopes finds the Scope of a location. The host builds, caches and evicts scopes.
type Scopes interface {
	// Scope returns the current scope of a location. Every turn calls it, so a change of configuration takes effect at
	// the next turn. The caller calls release when the turn is over. An error for people is a *session.Error.
	Scope(ctx context.Context, l session.Location) (s *Scope, release func(), err error)
	// Chain returns the Chain of the current scope of a location, which it loads. It is nil if the location cannot be
	// read.
	Chain(ctx context.Context, l session.Location) *extension.Chain
	// FindMoved returns the directory in which a session works since its project was moved away from the session's
	// directory; "" if its project is there, or is not known to have moved. here is the scope of the session's directory,
	// nil if that cannot be opened. It is a *session.Error of code conflict if another project has taken the directory, and
	// the new place of the session's project is unknown.
	FindMoved(ctx context.Context, s *session.Session, here *Scope) (to string, err error)
}

// Open returns the scope of the directory in which the session works: its own, or the one to which its project was moved.
// It reads only; see OpenForWork. Everything that acts for a session finds its scope so: nothing of a session runs in
// another project that has taken its directory.
func Open(ctx context.Context, all Scopes, s *session.Session) (*Scope, func(), error) {
	at, _, release, err := OpenForWork(ctx, all, s)
	return at, release, err
}

// OpenForWork is Open, and reports whether the session's project was moved. The log must then say that the session has
// moved (admit.Commands.FollowProject) before work begins at the new place. If another project is at the new place, it is
// a *session.Error of code conflict.
func OpenForWork(ctx context.Context, all Scopes, s *session.Session) (
	at *Scope, moved bool, release func(), err error,
) {
	// Most often the project of the session is in its directory.
	at, release, err = all.Scope(ctx, s.Location)
	if err == nil && (s.RecordID == "" || at.RecordID == "" || at.RecordID == s.RecordID) {
		return at, false, release, nil
	}
	// Else look where the project is. A directory that nothing is known of stays.
	to, findErr := all.FindMoved(ctx, s, at)
	if findErr == nil && to == "" {
		return at, false, release, err
	}
	if err == nil {
		release()
	}
	if findErr != nil {
		return nil, false, nil, findErr
	}
	at, release, err = all.Scope(ctx, session.Location{Directory: to, WorkspaceID: s.Location.WorkspaceID})
	if err != nil {
		return nil, false, nil, err
	}
	// It may have left that place as well, and another project may have taken it.
	if at.RecordID != s.RecordID {
		release()
		return nil, false, nil, session.Errorf(session.CodeConflict, "the project of this session is not in %s, to which it "+
			"was moved: run a cairn command where it is now, such as cairn session list, or cairn session move %s DIR "+
			"--to-other-project", to, s.ID).At("directory")
	}
	return at, true, release, nil
}

// Scope is a snapshot of a location for one turn. It never changes.
type Scope struct {
	Location  session.Location
	ProjectID session.ProjectID
	RecordID  session.RecordID // whose approvals apply; "" for none
	Subpath   string

	Agents       map[string]session.Agent
	DefaultAgent string
	Models       Models
	Tools        *tool.Registry
	// Extensions are patterns of the actions of tools that come from outside, which open sessions allow.
	Extensions []string
	// Chain is what outside code sees and changes of the work here; nil: nothing.
	Chain *extension.Chain
	// Small returns the model for small tasks, such as titles, of a session that runs on the model beside. It is nil,
	// or returns false, if there is no such model.
	Small func(beside session.ModelRef) (session.ModelRef, bool)
	// Summaries lets the small model summarise sessions after their work.
	Summaries bool
	// Budget is the budget of a new session whose request sets none; nil is no limit.
	Budget *session.Budget
	// NewSandbox is the least strict sandbox of sessions that begin in this process.
	NewSandbox session.SandboxMode
	// Sandbox returns the configured sandbox of an agent; "" if none is configured, or Sandbox is nil.
	Sandbox func(agent string) session.SandboxMode
	// CheckSandbox returns why this system cannot enforce a confined mode; nil if it can, or the function is missing.
	CheckSandbox func(session.SandboxMode) error
	// Layers returns the permission rules for an agent here, lowest first, without those of the session.
	Layers func(a session.Agent) []permission.Layer
	// Compaction says when the history is replaced by a summary, and what stays.
	Compaction CompactionSettings
	// Files keeps the contents of files that calls change. It is nil where snapshots are disabled.
	Files Worktree
	// SaveOutput stores the output of a call, so that the model can read it again with a tool, and returns the file. It
	// is nil, or fails, where that is not possible.
	SaveOutput func(id session.ID, text string) (path string, err error)
	// ReportUsage takes what a provider reported of a request, to correct TokensPerByte. It may be nil.
	ReportUsage func(m session.ModelRef, size RequestSize, tokens int64)
	// Requests returns the permissions that a call of the action's tool would request for a command or path; nil
	// requests the action itself only.
	Requests func(action, resource string) []tool.Request
	// FindInstructions returns the instruction files below the location that apply to the files and directories; nil
	// finds none.
	FindInstructions func(paths []string) []session.NestedInstruction
	// PlanPath returns the file of a session's plan. Nil: sessions have no plans.
	PlanPath func(s *session.Session) string
	// Context returns the sources of the system context of a turn.
	Context func(ctx context.Context, in ContextInput) (systemcontext.Context, error)
}

// ContextInput is the input of the sources of a system context besides the location.
type ContextInput struct {
	Session *session.Session
	Agent   session.Agent // of the turn
}

// CompactionSettings is the configuration of compactions. The zero value never compacts by itself and keeps no tail.
type CompactionSettings struct {
	Auto     bool  // before a request that would not fit, and after the provider rejected one as too large
	Stop     bool  // a compaction stops the work, instead of going on with it
	Reserved int64 // tokens of the window that a request leaves free; 0 is the default
	Keep     int64 // tokens of the newest messages that stay as they are; 0 is the default
	Turns    int64 // prompts of which messages stay, at most; negative is unlimited
	Prune    Prune
}

// Prune says when old outputs of tools are hidden from the model.
type Prune int

// The values of Prune.
const (
	PruneFree  Prune = iota // when the prefix of the request changes anyway, so that it costs no cache
	PruneNever              // not at all
	PruneEager              // also when work ends
)

// Models resolves the model that a session or agent selects.
type Models interface {
	// Resolve returns the model with the options that the agent adds to its requests. An unknown model is a
	// *session.Error of code not-found with the nearest names; a model without an API key is of code invalid and says
	// how to add one.
	Resolve(ref session.ModelRef, a session.Agent) (*Model, error)
	// Default returns the model of a session without a choice.
	Default() (session.ModelRef, error)
}

// Model is a resolved model: its client, its request options, its capabilities and its price.
type Model struct {
	Ref      session.ModelRef
	Client   llm.Model
	APIName  string // the vendor's name for it
	System   string // a system prompt after the agent's own
	Generate llm.Generation
	Options  map[string]jsontext.Value
	Body     map[string]jsontext.Value
	Headers  map[string]string
	Clocks   llm.Clocks
	Window   Limits
	// TokensPerByte is the model's tokens per byte of text, as reported usage shows; 0 unknown.
	TokensPerByte float64
	IsGuide       bool // it is the built-in guide, no language model
	Images        bool // it accepts images
	Documents     bool // it accepts PDFs
	NoTools       bool // it does not support tools and rejects a request that offers some
	Forms         llm.SchemaSupport
	// SupportsSchema reports whether the vendor accepts the schema for structured output; nil accepts every schema.
	SupportsSchema func(schema jsontext.Value) bool
	Hosted         []llm.ToolDefinition // tools that its vendor runs
	// HostedExclusive reports that the vendor accepts hosted tools only in requests without other tools.
	HostedExclusive bool
	// Cost returns what a request cost, and false if that is unknown. Models without it cost nothing.
	Cost func(u llm.Usage) (cost session.USD, known bool)
	// Unpriced reports that no price of the model is known; ReportsCharge, that its vendor reports what requests cost.
	Unpriced, ReportsCharge bool
}

// FindAgent returns the agent by name, "" being the default agent. A name that no longer exists gives an agent without
// a prompt and with every permission denied, so that its sessions still answer.
func (s *Scope) FindAgent(name string) session.Agent {
	if name == "" {
		name = s.DefaultAgent
	}
	if a, ok := s.Agents[name]; ok {
		return a
	}
	return session.Agent{
		ID: name, Mode: session.ModePrimary,
		Permissions: []session.Rule{{Action: "*", Resource: "*", Effect: session.Deny}},
	}
}

// AgentNames returns the sorted names of the agents that match.
func (s *Scope) AgentNames(match func(session.Agent) bool) []string {
	var names []string
	for name, a := range s.Agents {
		if match(a) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// RulesFor returns all permission rules for the agent in the session, lowest first.
func (s *Scope) RulesFor(a session.Agent, in *session.Session) []permission.Layer {
	layers := s.Layers(a)
	if in.Open {
		open := permission.Layer{Name: "defaults", Source: openSource, Rules: slices.Clone(openDefaults)}
		for _, action := range s.Extensions {
			open.Rules = append(open.Rules, session.Rule{Action: action, Resource: "*", Effect: session.Allow})
		}
		layers = slices.Insert(slices.Clone(layers), min(1, len(layers)), open)
	}
	if len(in.Permission) > 0 {
		layers = append(slices.Clone(layers), permission.Layer{Name: "session", Rules: in.Permission})
	}
	return layers
}

// RemoveOpenRules returns the layers without what open sessions allow.
func RemoveOpenRules(layers []permission.Layer) []permission.Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l permission.Layer) bool { return l.Source == openSource })
}

const openSource = "of an open session"

// openDefaults come right after the built-in defaults in open sessions: they allow what those ask about, except paths
// outside the location, secrets and repeated calls.
var openDefaults = []session.Rule{
	{Action: "edit", Resource: "*", Effect: session.Allow},
	{Action: "bash", Resource: "*", Effect: session.Allow},
	{Action: "webfetch", Resource: "*", Effect: session.Allow},
	{Action: "websearch", Resource: "*", Effect: session.Allow},
}

// ResolveModel resolves the session's choice, else the agent's, else the default.
func (s *Scope) ResolveModel(chosen *session.ModelRef, a session.Agent) (*Model, error) {
	switch {
	case chosen != nil:
		ref := *chosen
		if ref.Variant == "" {
			ref.Variant = "default" // OpenCode reads a stored choice without variant the same way
		}
		return s.Models.Resolve(ref, a)
	case a.Model != nil:
		return s.Models.Resolve(*a.Model, a)
	}
	ref, err := s.Models.Default()
	if err != nil {
		return nil, err
	}
	return s.Models.Resolve(ref, a)
}

// ResolveSmallModel resolves the model of a hidden agent for small tasks, beside a session whose choice and agent are
// given: the hidden agent's own model, else the small one. It is nil if the location has no such agent or no small
// model.
func (s *Scope) ResolveSmallModel(hidden string, chosen *session.ModelRef, a session.Agent) (*Model, error) {
	worker, ok := s.Agents[hidden]
	if !ok || s.Small == nil {
		return nil, nil
	}
	beside, err := s.ResolveModel(chosen, a)
	if err != nil {
		return nil, err
	}
	ref, ok := s.Small(beside.Ref)
	if !ok {
		return nil, nil
	}
	if worker.Model != nil {
		ref = *worker.Model
	}
	return s.Models.Resolve(ref, worker)
}

// PromptModel returns the model that answers a prompt which names none: the agent's, else the session's in its default
// variant, else the default. It is nil if no model can be used; the turn then reports that.
func (s *Scope) PromptModel(in *session.Session, agent string) *session.ModelRef {
	if m := s.Agents[agent].Model; m != nil {
		return m
	}
	if in.Model != nil {
		return &session.ModelRef{ID: in.Model.ID, ProviderID: in.Model.ProviderID}
	}
	if m, err := s.Models.Default(); err == nil {
		return &m
	}
	return nil
}

// CheckModel returns why a session with the agent and the model would have no model: that of the agent, or
// the configured one, is not a model or cannot be used.
func (s *Scope) CheckModel(agent string, model *session.ModelRef) error {
	if model != nil { // checked as a selection
		return nil
	}
	ref := s.FindAgent(agent).Model
	if ref == nil {
		configured, err := s.Models.Default()
		if err != nil {
			return err
		}
		ref = &configured
	}
	_, err := s.Models.Resolve(*ref, session.Agent{})
	return err
}

// CheckSelection checks that a session may select the agent and the model; "" and nil select the default. Every agent
// can be selected by name, including those that lists hide.
func (s *Scope) CheckSelection(agent string, model *session.ModelRef) error {
	if agent != "" {
		if _, ok := s.Agents[agent]; !ok {
			return session.NotFound("agent", agent, s.AgentNames(session.Agent.IsSelectable)...).At("agent")
		}
	}
	if model != nil {
		if _, err := s.Models.Resolve(*model, session.Agent{}); err != nil {
			return err
		}
	}
	return nil
}
