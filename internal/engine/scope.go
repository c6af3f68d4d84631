package engine

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Locations finds what a turn takes from its directory. The host implements it; it builds, caches and evicts scopes.
type Locations interface {
	// Scope returns the current scope of a location. It is asked at every turn, so changes of configuration take
	// effect at the next boundary. release is called when the turn is over. Errors that people should see are
	// *session.Error.
	Scope(ctx context.Context, l session.Location) (s *Scope, release func(), err error)
}

// Scope is what one turn sees of its location: a snapshot that never changes.
type Scope struct {
	Location  session.Location
	ProjectID session.ProjectID
	Subpath   string

	Agents       map[string]session.Agent
	DefaultAgent string
	Models       Models
	Tools        *tool.Registry
	// Small returns the model that is asked for small work, such as a title, in sessions that the other model answers; nil, or
	// false, if none is.
	Small func(beside session.ModelRef) (session.ModelRef, bool)
	// Budget is what a new session may use here where its request does not say; nil for no limit.
	Budget *session.Budget
	// Layers returns the rules that hold for an agent's work here, lowest first. A session's own come after them.
	Layers func(a session.Agent) []permission.Layer
	// Requests are what a call of the action's tool would ask for here, of a command or a path; nil asks for just that.
	Requests func(action, resource string) []tool.Request
	// Context returns the sources that describe the agent's surroundings.
	Context func(ctx context.Context, a session.Agent) (systemcontext.Context, error)
}

// Models resolves what a session or agent selects.
type Models interface {
	// Resolve returns the model with what the agent adds to its requests. An unknown one is a *session.Error of code
	// not-found with the nearest names; one that cannot be used (no key) is of code invalid and says what to do.
	Resolve(ref session.ModelRef, a session.Agent) (*Model, error)
	// Default is the model of a session for which nobody chose.
	Default() (session.ModelRef, error)
}

// Model is a resolved model: whom to call and what it costs.
type Model struct {
	Ref       session.ModelRef
	Client    llm.Model
	APIName   string // what the vendor calls it
	System    string // what the agent is told of it, behind the agent's own prompt
	Generate  llm.Generation
	Options   map[string]jsontext.Value
	Body      map[string]jsontext.Value
	Headers   map[string]string
	Clocks    llm.Clocks
	Context   int64 // tokens that fit its window; 0 unknown
	Output    int64 // tokens that it can answer; 0 unknown
	Images    bool  // it reads images
	Documents bool  // it reads PDFs
	Toolless  bool  // it calls no tools, and refuses a request that offers some
	Forms     llm.Forms
	Holds     func(schema jsontext.Value) bool // the vendor takes that schema for an answer; nil: it takes any
	Hosted    []llm.ToolDefinition             // what its vendor runs itself
	// HostedAlone says that the vendor takes these only where no others are offered.
	HostedAlone bool
	Cost        func(u llm.Usage) session.USD
}

// agent returns the agent by name. A named agent that is gone still runs, with no text of its own and every permission
// denied (spec/v2 T2).
func (s *Scope) agent(name string) session.Agent {
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

// layers returns all rules that hold for work of the agent in the session, lowest first.
func (s *Scope) layers(a session.Agent, of *session.Session) []permission.Layer {
	ls := s.Layers(a)
	if of.Open {
		ls = slices.Insert(slices.Clone(ls), min(1, len(ls)), permission.Layer{Name: "defaults", Source: "of an open session", Rules: freely})
	}
	if len(of.Permission) > 0 {
		ls = append(slices.Clone(ls), permission.Layer{Name: "session", Rules: of.Permission})
	}
	return ls
}

// freely are the defaults of open sessions, right above the careful ones: what those ask about is allowed, but for what
// lies outside of the location, secrets and loops (spec/v1 §21.7).
var freely = []session.Rule{
	{Action: "edit", Resource: "*", Effect: session.Allow},
	{Action: "bash", Resource: "*", Effect: session.Allow},
	{Action: "webfetch", Resource: "*", Effect: session.Allow},
	{Action: "websearch", Resource: "*", Effect: session.Allow},
}

// model resolves the session's choice, else the agent's, else the default.
func (s *Scope) model(chosen *session.ModelRef, a session.Agent) (*Model, error) {
	switch {
	case chosen != nil:
		ref := *chosen
		if ref.Variant == "" {
			ref.Variant = "default" // as OpenCode reads a stored choice back (spec/v2 §7)
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
