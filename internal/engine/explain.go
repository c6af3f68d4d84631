package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// Inquiry is a question about rights: those of an agent in a session, or, without one, in a new session at the location.
type Inquiry struct {
	SessionID session.ID
	Location  session.Location
	Agent     string // "" is the session's, or the default
	Action    string
	Resources []string
}

// Explain decides about each part of each resource, as a call would be decided about now, and says by which rules.
// Nothing is asked and nothing is recorded.
func (e *Engine) Explain(ctx context.Context, q Inquiry) ([]permission.Decision, error) {
	s := &session.Session{Location: q.Location}
	if q.SessionID != "" {
		var err error
		if s, err = e.session(ctx, q.SessionID); err != nil {
			return nil, err
		}
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if q.SessionID == "" {
		s.ProjectID, s.Location = scope.ProjectID, scope.Location
	}
	layers, err := e.rights(ctx, scope, s, scope.agent(cmp.Or(q.Agent, s.Agent)))
	if err != nil {
		return nil, err
	}
	if q.Action == actionBudget || q.Action == actionLoop {
		layers = explicit(layers, q.Action)
	}
	saved, err := e.approvals(ctx, s.ApprovalScope())
	if err != nil {
		return nil, err
	}
	var out []permission.Decision
	if q.Action == permission.Shell {
		out = reached(layers, saved, scope, q.Resources)
	}
	for _, resource := range q.Resources {
		out = append(out, permission.Explain(layers, saved, permission.Subject{Action: q.Action, Resources: []string{resource}})...)
	}
	return out, nil
}

// reached decides about the files that commands name, as seen from the Location. What is allowed to be read is not worth
// a word.
func reached(layers []permission.Layer, saved []session.Rule, scope *Scope, commands []string) (out []permission.Decision) {
	seen := map[permission.Reach]bool{}
	for _, command := range commands {
		for _, r := range permission.Reaches(command) {
			r.Path = scope.resource(r.Path)
			if seen[r] {
				continue
			}
			seen[r] = true
			if d := permission.Evaluate(layers, saved, r.Action, r.Path); d.Effect != session.Allow || r.Action == permission.Edit {
				out = append(out, d)
			}
		}
	}
	return out
}

// resource is a path as rules see it, below the worktree, links left as they are.
func (s *Scope) resource(name string) string {
	if strings.HasPrefix(name, "~") {
		return name
	}
	dir := filepath.Clean(s.Location.Directory)
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	root := strings.TrimSuffix(dir, string(filepath.Separator)+filepath.FromSlash(s.Subpath))
	if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return filepath.ToSlash(name)
}
