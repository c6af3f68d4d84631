package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
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
	layers, err := e.rights(ctx, scope, s, scope.FindAgent(cmp.Or(q.Agent, s.Agent)))
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
	for _, resource := range q.Resources {
		for _, r := range requestsOf(scope, q.Action, resource) {
			subject := permission.Subject{Action: r.Action, Resources: r.Resources, Seen: r.Seen}
			out = append(out, slices.DeleteFunc(permission.Explain(layers, saved, subject), func(d permission.Decision) bool {
				return q.Action == permission.Shell && r.Action == readAction && d.Effect == session.Allow // not worth a word
			})...)
		}
	}
	return out, nil
}

// readAction is that of the tool read, which commands are held to.
const readAction = "read"

// requestsOf are what a call would ask for, and besides, of a command, for files that it names and that are not there yet.
func requestsOf(s *location.Scope, action, resource string) (out []tool.Request) {
	plain := tool.Request{Action: action, Resources: []string{resource}}
	if s.Requests != nil {
		out = s.Requests(action, resource)
	}
	if action == permission.Shell {
		out = append(unseenReads(s, resource, out), out...)
	}
	if !slices.ContainsFunc(out, func(r tool.Request) bool { return r.Action == action }) {
		out = append(out, plain)
	}
	return out
}

// unseenReads are the files that a command would read as seen from the Location, links left as they are, but for those that are
// in the requests already.
func unseenReads(s *location.Scope, command string, known []tool.Request) (out []tool.Request) {
	for _, r := range permission.Reaches(command) {
		r.Path = resourceOf(s, r.Path)
		if r.Action == readAction && !slices.ContainsFunc(slices.Concat(known, out), func(k tool.Request) bool {
			return k.Action == r.Action && slices.Contains(k.Resources, r.Path)
		}) {
			out = append(out, tool.Request{Action: r.Action, Resources: []string{r.Path}})
		}
	}
	return out
}

// resourceOf is a path as rules see it, below the worktree, links left as they are.
func resourceOf(s *location.Scope, name string) string {
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
