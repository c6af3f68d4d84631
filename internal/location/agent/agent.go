// Package agent defines the agents of a location: the built-in ones as changed by the configuration, and those that the
// configuration adds, with the permission rules of each.
//
// Rules stay in separate ordered layers. Denies that belong to an agent (plan does not edit, explore only reads) and
// rules of an untrusted project are ceilings: a broad allow in the user's configuration does not lift them. Rules of
// the user's configuration for that same agent do.
package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// Options describe the location beside its configuration.
type Options struct {
	// Allowed are directories outside of the location that need no ask: managed tool output and temporary files.
	Allowed []string
	// Plans is the directory of plans that belong to no project; "" for none.
	Plans string
	// Asking are patterns of further actions that ask by default: those of tools of MCP servers.
	Asking []string
}

// Set is the agents of one location. It is immutable and safe for concurrent use.
type Set struct {
	agents   map[string]session.Agent
	chosen   string
	rules    []permission.Layer            // for all agents: defaults, the user's, the project's
	byAgent  map[string][]permission.Layer // for one agent, by name
	warnings []config.Warning
}

// New returns the agents of a configuration.
func New(cfg *config.Config, o Options) *Set {
	s := &Set{
		agents:  map[string]session.Agent{},
		rules:   LocationLayers(cfg, o),
		byAgent: map[string][]permission.Layer{},
	}
	for _, b := range builtinAgents(o) {
		s.agents[b.ID] = b
	}
	names := slices.Concat(slices.Collect(maps.Keys(s.agents)), slices.Collect(maps.Keys(cfg.Agent)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s.addAgent(cfg, name)
	}
	s.chooseDefault(cfg)
	return s
}

// addAgent applies the configuration of one agent to the built-in one.
func (s *Set) addAgent(cfg *config.Config, name string) {
	// Begin with the built-in agent of the name, or a new one that may be used anywhere.
	a, known := s.agents[name]
	if !known {
		a = session.Agent{ID: name, Mode: session.ModeAll}
	}
	c := cfg.Agent[name]
	if c.Disable != nil && *c.Disable {
		delete(s.agents, name)
		return
	}
	// The permissions are the built-in rules, then those of the configuration in its order. Each rule keeps its
	// place for permission explain.
	a.Permissions = slices.Clone(a.Permissions)
	layers := []permission.Layer{{Name: "agent", Source: "built-in " + name, Rules: a.Permissions}}
	places := slices.Repeat([]string{layers[0].Source}, len(a.Permissions))
	var project []permission.Layer
	for _, list := range cfg.AgentRules(name) {
		// The rules of an untrusted project do not change the agent; they form layers of their own, which can only
		// tighten.
		if list.Project && !list.Trusted {
			project = append(project, untrustedLayer(list))
			continue
		}
		own := layerOf("agent", list)
		layers = append(layers, own)
		a.Permissions = append(a.Permissions, list.Rules...)
		places = append(places, own.RuleSources...)
	}
	// All rules of the agent together are a ceiling: what they refuse no other layer allows.
	ceiling := permission.Layer{
		Name:        "agent",
		Source:      "agent " + name,
		Rules:       a.Permissions,
		RuleSources: places,
		Ceiling:     true,
	}
	s.byAgent[name] = append(append(layers, ceiling), project...)
	s.agents[name] = applyConfig(a, c)
}

// applyConfig returns the agent as changed by its configuration.
// Only values that are set replace those of the agent.
func applyConfig(a session.Agent, c config.Agent) session.Agent {
	// A variant without a model applies to no model, so it is ignored then.
	if ref := c.Model.Ref(); ref != nil {
		if c.Variant != "" {
			ref.Variant = c.Variant
		}
		a.Model = ref
	}
	// Texts.
	for to, from := range map[*string]string{
		&a.System: c.Prompt, &a.Description: c.Description,
		&a.Color: string(c.Color),
	} {
		if from != "" {
			*to = from
		}
	}
	if c.Mode != "" {
		a.Mode = session.AgentMode(c.Mode)
	}
	if c.Hidden != nil {
		a.Hidden = *c.Hidden
	}
	if c.Steps != 0 {
		a.Steps = int(c.Steps)
	}
	// Settings of the request, and a list that clients can rely on: empty, not null.
	a.Request = requestOf(c, a.Request)
	if a.Permissions == nil {
		a.Permissions = []session.Rule{}
	}
	return a
}

// requestOf collects an agent's additions to requests: unknown keys, options, the older sampling keys, and the member
// request.
func requestOf(c config.Agent, builtin session.AgentRequest) session.AgentRequest {
	r := session.AgentRequest{Headers: map[string]string{}, Body: map[string]jsontext.Value{}}
	maps.Copy(r.Headers, builtin.Headers)
	maps.Copy(r.Body, builtin.Body)
	var extra map[string]jsontext.Value
	if len(c.Extra) > 0 && json.Unmarshal(c.Extra, &extra) == nil {
		maps.Copy(r.Body, extra)
	}
	maps.Copy(r.Body, c.Options)
	for key, value := range map[string]*float64{"temperature": c.Temperature, "top_p": c.TopP} {
		if value != nil {
			raw, _ := json.Marshal(*value) // a number from JSON can be encoded
			r.Body[key] = raw
		}
	}
	if c.Request != nil {
		maps.Copy(r.Headers, c.Request.Headers)
		maps.Copy(r.Body, c.Request.Body)
	}
	return r
}

// chooseDefault selects the default agent: the configured one if users may select it, else build, else the first by
// name.
func (s *Set) chooseDefault(cfg *config.Config) {
	want := cfg.DefaultAgent
	if a, ok := s.agents[want]; ok && a.IsSelectable() {
		s.chosen = want
		return
	}
	for _, name := range append([]string{"build"}, slices.Sorted(maps.Keys(s.agents))...) {
		if a, ok := s.agents[name]; ok && a.IsSelectable() {
			s.chosen = name
			break
		}
	}
	if want == "" {
		return
	}
	message := "names an agent that users cannot select; " + s.chosen + " is used"
	if _, ok := s.agents[want]; !ok {
		message = "names no agent; " + s.chosen + " is used; there are " + strings.Join(s.selectableNames(), ", ")
	}
	w := config.Warning{Kind: config.WarnUnknown, Key: "default_agent", Message: message}
	if from := cfg.Explain("default_agent"); len(from) > 0 {
		w.Position = from[0].Source
	}
	s.warnings = append(s.warnings, w)
}

// Warnings returns the parts of the configuration that could not be applied.
func (s *Set) Warnings() []config.Warning { return s.warnings }

// Default returns the agent of a session that names none; false if every agent is disabled or hidden.
func (s *Set) Default() (session.Agent, bool) {
	a, ok := s.agents[s.chosen]
	return a, ok
}

// Get returns the agent by name. An unknown one is a *session.Error with the nearest names.
func (s *Set) Get(name string) (session.Agent, error) {
	if a, ok := s.agents[name]; ok {
		return a, nil
	}
	var visible []string
	for _, a := range s.agents {
		if !a.Hidden {
			visible = append(visible, a.ID)
		}
	}
	near := spelling.FindNearest(name, visible, 3)
	if len(near) == 0 {
		near = s.selectableNames()
	}
	return session.Agent{}, session.NotFound("agent", name, near...)
}

func (s *Set) selectableNames() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		if s.agents[name].IsSelectable() {
			out = append(out, name)
		}
	}
	return out
}

// List returns all agents, including hidden ones: the default first, then by name.
func (s *Set) List() []session.Agent {
	return slices.SortedFunc(maps.Values(s.agents), func(a, b session.Agent) int {
		if (a.ID == s.chosen) != (b.ID == s.chosen) {
			if a.ID == s.chosen {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
}
