package tool

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Registry holds the tools of one scope by name. The newest registration of a name wins; closing it makes the one
// before visible again. Safe for concurrent use.
type Registry struct {
	config Config

	mu     sync.Mutex // guards the rest
	stacks map[string][]*entry
	hint   func(name string) string // of SetHint
}

// Config configures a Registry.
type Config struct {
	Outputs *Outputs // stores text beyond the limits; nil: it is lost
	Limits  Limits   // zero fields mean the defaults
	Log     *slog.Logger
}

// entry is one registration of one tool. Its address is its identity: an equal tool that is registered again is another
// entry.
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

// Registration is a set of tools registered together. Close removes these, and no others.
type Registration struct {
	registry *Registry
	entries  []*entry
}

var validName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
})

// IsName reports whether a tool can have the name.
func IsName(name string) bool { return validName().MatchString(name) }

// Register adds tools on top of those with the same names. It registers none of them if a name is invalid or given
// twice, or a schema is not a JSON object.
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
	if !IsName(def.Name) {
		return nil, fmt.Errorf("register tools: the name %q must match %s", def.Name, validName())
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

// Close removes the registration. Calls of its tools in earlier Sets become stale. A second Close does nothing.
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

// SetHint sets the function that explains, to the model that called it, why a name is unknown, or returns "" if it does
// not know.
func (r *Registry) SetHint(hint func(name string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hint = hint
}

func (r *Registry) findHint(name string) string {
	r.mu.Lock()
	hint := r.hint
	r.mu.Unlock()
	if hint == nil {
		return ""
	}
	return hint(name)
}

// currentEntry returns the newest registration of a name, nil if the name is not registered.
func (r *Registry) currentEntry(name string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stack := r.stacks[name]; len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return nil
}

// Set is an immutable snapshot of a Registry: the tools that one request offers to the model. A call of a tool that was
// removed or replaced since is refused as stale.
type Set struct {
	registry *Registry
	entries  map[string]*entry
	hidden   []string
}

// TakeSnapshot returns the current tools without those whose action is hidden. A nil hidden hides none.
func (r *Registry) TakeSnapshot(hidden func(action string) bool) *Set {
	s := &Set{registry: r, entries: map[string]*entry{}}
	r.mu.Lock()
	for name, stack := range r.stacks {
		s.entries[name] = stack[len(stack)-1]
	}
	r.mu.Unlock()
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

// Definitions returns the definitions for the model, sorted by name. Action is never empty.
func (s *Set) Definitions() []Definition {
	defs := make([]Definition, 0, len(s.entries))
	for _, e := range s.entries {
		defs = append(defs, e.def)
	}
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// CanonicalName returns the name of the tool that a call means, ignoring case: models change the case of names.
func (s *Set) CanonicalName(name string) string {
	if lower := strings.ToLower(name); s.entries[name] == nil && s.entries[lower] != nil {
		return lower
	}
	return name
}

// Action returns the permission action of the tool of the name, "" without one.
func (r *Registry) Action(name string) string {
	e := r.currentEntry(name)
	if e == nil {
		return ""
	}
	return cmp.Or(e.def.Action, e.def.Name)
}

// Has reports whether a tool of the name is registered.
func (r *Registry) Has(name string) bool { return r.currentEntry(name) != nil }
