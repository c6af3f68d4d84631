// Package agent holds the agents of a location: the built-in ones, as the configuration changes them, and those that
// it adds; and the permission rules that hold for each (spec/v2 §17, §19.1, spec/v1 §22).
//
// Rules stay in separate ordered layers. What forbids work to an agent (plan does not edit, explore only reads) and
// what a project's files forbid are ceilings: a broad allow in the user's configuration does not lift them. Words about
// that very agent in the user's own configuration do.
package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// Options say what belongs to the location besides its configuration.
type Options struct {
	// Allowed are directories outside of the location that need no asking: managed tool output, our temporary files.
	Allowed []string
	// Plans is where plans are kept that belong to no project's directory; "" is nowhere.
	Plans string
}

// Set is the agents of one location. It never changes; safe for concurrent use.
type Set struct {
	agents   map[string]session.Agent
	chosen   string
	rules    []permission.Layer            // of everybody: defaults, the user's, the project's
	own      map[string][]permission.Layer // of one agent, by name
	warnings []config.Warning
}

// New makes the agents of a configuration.
func New(cfg *config.Config, o Options) *Set {
	s := &Set{agents: map[string]session.Agent{}, rules: Layers(cfg, o), own: map[string][]permission.Layer{}}
	for _, b := range builtins(o) {
		s.agents[b.ID] = b
	}
	names := slices.Concat(slices.Collect(maps.Keys(s.agents)), slices.Collect(maps.Keys(cfg.Agent)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s.add(cfg, name)
	}
	s.choose(cfg)
	return s
}

// add lays the configuration of one agent over what is built in.
func (s *Set) add(cfg *config.Config, name string) {
	a, known := s.agents[name]
	if !known {
		a = session.Agent{ID: name, Mode: session.ModeAll}
	}
	c := cfg.Agent[name]
	if c.Disable != nil && *c.Disable {
		delete(s.agents, name)
		return
	}
	a.Permissions = slices.Clone(a.Permissions)
	layers := []permission.Layer{{Name: "agent", Source: "built-in " + name, Rules: a.Permissions}}
	places := slices.Repeat([]string{layers[0].Source}, len(a.Permissions))
	var project []permission.Layer
	for _, list := range cfg.AgentRules(name) {
		if list.Project && !list.Trusted {
			project = append(project, untrusted(list))
			continue
		}
		own := layerOf("agent", list)
		layers = append(layers, own)
		a.Permissions = append(a.Permissions, list.Rules...)
		places = append(places, own.Places...)
	}
	ceiling := permission.Layer{Name: "agent", Source: "agent " + name, Rules: a.Permissions, Places: places, Ceiling: true}
	s.own[name] = append(append(layers, ceiling), project...)
	s.agents[name] = overlay(a, c)
}

// overlay returns the agent with what the configuration says of it.
func overlay(a session.Agent, c config.Agent) session.Agent {
	if ref := c.Model.Ref(); ref != nil {
		if c.Variant != "" {
			ref.Variant = c.Variant
		}
		a.Model = ref
	}
	for to, from := range map[*string]string{&a.System: c.Prompt, &a.Description: c.Description, &a.Color: string(c.Color)} {
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
	a.Request = request(c, a.Request)
	if a.Permissions == nil {
		a.Permissions = []session.Rule{}
	}
	return a
}

// request gathers what a configuration adds to the agent's requests: unknown keys, options and the older sampling
// keys, then the request itself (spec/v1 §22).
func request(c config.Agent, builtin session.AgentRequest) session.AgentRequest {
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
			raw, _ := json.Marshal(*value) // a number that was read from JSON
			r.Body[key] = raw
		}
	}
	if c.Request != nil {
		maps.Copy(r.Headers, c.Request.Headers)
		maps.Copy(r.Body, c.Request.Body)
	}
	return r
}

// choose finds the default agent: the configured one if users may select it, else build, else the first by name.
func (s *Set) choose(cfg *config.Config) {
	want := cfg.DefaultAgent
	if a, ok := s.agents[want]; ok && a.Selectable() {
		s.chosen = want
		return
	}
	for _, name := range append([]string{"build"}, slices.Sorted(maps.Keys(s.agents))...) {
		if a, ok := s.agents[name]; ok && a.Selectable() {
			s.chosen = name
			break
		}
	}
	if want == "" {
		return
	}
	message := "names an agent that users cannot select; " + s.chosen + " is used"
	if _, ok := s.agents[want]; !ok {
		message = "names no agent; " + s.chosen + " is used; there are " + strings.Join(s.selectable(), ", ")
	}
	w := config.Warning{Kind: config.WarnIgnored, Key: "default_agent", Message: message}
	if from := cfg.Explain("default_agent"); len(from) > 0 {
		w.Position = from[0].Source
	}
	s.warnings = append(s.warnings, w)
}

// Warnings says what of the configuration could not be done.
func (s *Set) Warnings() []config.Warning { return s.warnings }

// Default returns the agent of a session for which nobody chose; false when every agent was disabled or hidden.
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
	near := spelling.Nearest(name, visible, 3)
	if len(near) == 0 {
		near = s.selectable()
	}
	return session.Agent{}, session.NotFound("agent", name, near...)
}

func (s *Set) selectable() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		if s.agents[name].Selectable() {
			out = append(out, name)
		}
	}
	return out
}

// List returns all agents, hidden ones too: the default first, then by name.
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
