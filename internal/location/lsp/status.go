package lsp

import (
	"path/filepath"
	"slices"
	"strings"
)

// Status is the state of a language server, in OpenCode's form.
type Status struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Root   string `json:"root"`   // relative to the location
	Status string `json:"status"` // connected or error
	Reason string `json:"-"`      // of an error
}

// Status returns the servers that run, those that failed, and those that a file needs and are not installed, by name
// and root. Optional servers that are not installed are not among them.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Status{}
	for _, e := range m.entries {
		s := Status{ID: e.server.ID, Name: e.server.ID, Status: "connected"}
		if e.client == nil {
			if e.crashes == 0 && !e.isMissing || e.failure == "" || e.pending != nil {
				continue
			}
			s.Status, s.Reason = "error", e.failure
		}
		if rel, err := filepath.Rel(m.options.Directory, e.root); err == nil && rel != "." {
			s.Root = filepath.ToSlash(rel)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.ID+"\x00"+a.Root, b.ID+"\x00"+b.Root) })
	return out
}
