package mcp

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Tools keeps the tools of a Set in a registry. A change of the servers takes effect at the next Sync, which the caller
// makes at the boundary of a turn. Servers that are added later are left out: the permission rules that belong to the
// registry do not name their tools.
type Tools struct {
	set      *Set
	registry *tool.Registry
	log      *slog.Logger
	names    []string // of the servers

	mu         sync.Mutex // guards the rest
	registered map[string]registeredTool
	resources  *tool.Registration // of the tools for resources; nil unless a server has resources
	versions   map[*server]int    // of the offers that are registered
	approvals  int                // Approvals.countChanges when they were registered
	missing    []missingServer    // at the last Sync
}

type registeredTool struct {
	server       *server
	fingerprint  string // of the tool of the server
	shown        tool.Definition
	registration *tool.Registration
}

// NewTools returns the tools of the set for a registry, which has none of them before the first Sync.
func NewTools(s *Set, r *tool.Registry) *Tools {
	r.SetHint(s.describeUnknown)
	return &Tools{set: s, registry: r, log: s.pool.options.Log, names: s.names(), registered: map[string]registeredTool{}}
}

// Sync makes the registry offer the tools that the servers have now. A tool that stays as it is keeps its registration,
// so that calls of it that run are not stale.
func (t *Tools) Sync() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteMissing()
	approvals := t.set.pool.options.Approvals.countChanges()
	servers := slices.DeleteFunc(t.set.list(), func(s *server) bool { return !slices.Contains(t.names, s.name) })
	if t.approvals == approvals && t.isCurrent(servers) {
		return
	}
	// Collect what there should be. Of two tools with one name, that of the first server counts.
	want := map[string]serverTool{}
	hasResources := false
	versions := map[*server]int{}
	for _, s := range servers {
		s.mu.Lock()
		found, version := s.offer, s.version
		s.mu.Unlock()
		versions[s] = version
		hasResources = hasResources || found.hasResources
		for _, one := range found.tools {
			if _, ok := want[one.name]; ok {
				t.log.Warn("two MCP servers have a tool of one name", "tool", one.name, "left out", s.name)
				continue
			}
			want[one.name] = serverTool{s, one}
		}
	}
	t.replace(want)
	t.offerResources(hasResources)
	t.versions, t.approvals = versions, approvals
}

// isCurrent reports whether the registry has what the servers offer.
func (t *Tools) isCurrent(servers []*server) bool {
	if t.versions == nil || len(t.versions) != len(servers) {
		return false
	}
	for _, s := range servers {
		s.mu.Lock()
		version := s.version
		s.mu.Unlock()
		if before, ok := t.versions[s]; !ok || before != version {
			return false
		}
	}
	return true
}

// replace registers the tools that are new or changed, and removes those that are not wanted.
func (t *Tools) replace(want map[string]serverTool) {
	for name, old := range t.registered {
		now, ok := want[name]
		if ok && now.server == old.server && now.fingerprint == old.fingerprint && now.isShownAs(old.shown) {
			delete(want, name)
			continue
		}
		old.registration.Close()
		delete(t.registered, name)
	}
	for name, one := range want {
		if t.registry.Has(name) {
			t.log.Warn("a tool of an MCP server has the name of a built-in one and is left out", "tool", name)
			continue
		}
		registration, err := t.registry.Register(one)
		if err != nil {
			t.log.Warn("a tool of an MCP server is left out", "tool", name, "error", describeError(err))
			continue
		}
		t.registered[name] = registeredTool{one.server, one.fingerprint, one.Definition(), registration}
	}
}

// offerResources registers the tools for resources, or removes them.
func (t *Tools) offerResources(wanted bool) {
	switch {
	case wanted && t.resources == nil:
		registration, err := t.registry.Register(newResourceTools(t.set)...)
		if err != nil {
			t.log.Warn("the tools for resources are left out", "error", err)
			return
		}
		t.resources = registration
	case !wanted && t.resources != nil:
		t.resources.Close()
		t.resources = nil
	}
}
