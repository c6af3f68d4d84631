package tool

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Registry holds the tools of one scope by name. For each name there is a stack: the newest registration wins, and
// closing a registration brings back what it covered (spec/v2 TR-1..TR-3). Safe for concurrent use.
type Registry struct {
	config Config

	mu     sync.Mutex // guards stacks
	stacks map[string][]*entry
}

// Config is what a registry needs.
type Config struct {
	Parent  *Registry // the wider scope that this one overlays, e.g. the application's tools; nil for none
	Outputs *Outputs  // where text beyond the limits is kept; nil: it is lost
	Limits  Limits    // zero fields mean the defaults
	Log     *slog.Logger
}

// entry is one registration of one tool. Its address is its identity: registering an equal tool again makes another.
type entry struct {
	tool   Tool
	def    Definition
	schema *schema
}

// NewRegistry returns an empty registry.
func NewRegistry(c Config) *Registry {
	c.Limits = c.Limits.withDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Registry{config: c, stacks: map[string][]*entry{}}
}

// Registration is a set of tools registered together. Close takes them, and only them, out again.
type Registration struct {
	registry *Registry
	entries  []*entry
}

var validName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// Register adds tools on top of those of the same name. One bad name, name given twice, or schema that is not a JSON
// object refuses them all (TR-2).
func (r *Registry) Register(tools ...Tool) (*Registration, error) {
	reg := &Registration{registry: r}
	seen := map[string]bool{}
	for _, t := range tools {
		e, err := newEntry(t)
		if err != nil {
			return nil, err
		}
		if seen[e.def.Name] {
			return nil, fmt.Errorf("register tools: %q is given twice", e.def.Name)
		}
		seen[e.def.Name] = true
		if e.schema.problem != nil {
			r.config.Log.Warn(
				"the input of a tool is not checked, its schema cannot be read", "tool", e.def.Name, "error", e.schema.problem,
			)
		}
		reg.entries = append(reg.entries, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range reg.entries {
		r.stacks[e.def.Name] = append(r.stacks[e.def.Name], e)
	}
	return reg, nil
}

func newEntry(t Tool) (*entry, error) {
	def := t.Definition()
	if !validName.MatchString(def.Name) {
		return nil, fmt.Errorf("register tools: the name %q must match %s", def.Name, validName)
	}
	if def.Action == "" {
		def.Action = def.Name
	}
	s, err := compileSchema(def.Schema)
	if err != nil {
		return nil, fmt.Errorf("register tools: the schema of %q: %w", def.Name, err)
	}
	return &entry{tool: t, def: def, schema: s}, nil
}

// Close removes the registration. Calls of its tools in earlier Sets become stale. Closing twice does nothing more.
func (g *Registration) Close() {
	r := g.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range g.entries {
		name := e.def.Name
		r.stacks[name] = slices.DeleteFunc(r.stacks[name], func(x *entry) bool { return x == e })
		if len(r.stacks[name]) == 0 {
			delete(r.stacks, name)
		}
	}
	g.entries = nil
}

// currentEntry returns the registration that the name means now, nil if none.
func (r *Registry) currentEntry(name string) *entry {
	for ; r != nil; r = r.config.Parent {
		r.mu.Lock()
		stack := r.stacks[name]
		r.mu.Unlock()
		if n := len(stack); n > 0 {
			return stack[n-1]
		}
	}
	return nil
}

// Set is a snapshot of a registry: what one request offers to the model. It never changes; a call of a tool that was
// removed or replaced since is refused as stale (TR-5).
type Set struct {
	registry *Registry
	entries  map[string]*entry
	hidden   []string
}

// TakeSnapshot takes a snapshot without the tools whose action is hidden (TR-4). A nil hidden hides nothing.
func (r *Registry) TakeSnapshot(hidden func(action string) bool) *Set {
	s := &Set{registry: r, entries: map[string]*entry{}}
	for at := r; at != nil; at = at.config.Parent {
		at.mu.Lock()
		for name, stack := range at.stacks {
			if s.entries[name] == nil {
				s.entries[name] = stack[len(stack)-1]
			}
		}
		at.mu.Unlock()
	}
	if hidden == nil {
		return s
	}
	for name, e := range s.entries {
		if hidden(e.def.Action) {
			delete(s.entries, name)
			s.hidden = append(s.hidden, name)
		}
	}
	return s
}

// Definitions returns what the model is told, sorted by name. Action is never empty.
func (s *Set) Definitions() []Definition {
	defs := make([]Definition, 0, len(s.entries))
	for _, e := range s.entries {
		defs = append(defs, e.def)
	}
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// Definition returns the definition of the tool with the name.
func (s *Set) Definition(name string) (Definition, bool) {
	e, ok := s.entries[name]
	if !ok {
		return Definition{}, false
	}
	return e.def, true
}

// CanonicalName returns the name of the tool that a call means: models write names in other letters, too (spec/v1 §32.2).
func (s *Set) CanonicalName(name string) string {
	if lower := strings.ToLower(name); s.entries[name] == nil && s.entries[lower] != nil {
		return lower
	}
	return name
}

func (s *Set) names() []string {
	names := make([]string, 0, len(s.entries))
	for name := range s.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
