package ask

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

// Query names rights to explain: those of an agent in a session or, without a session, in a new one at the location.
type Query struct {
	SessionID session.ID
	Location  session.Location
	Agent     string // "" is the session's, or the default
	Action    string
	Resources []string
}

// ExplainRights decides about each part of each resource as a call would be decided about now, and names the rules
// that decide. It asks and records nothing.
func (a *Asks) ExplainRights(ctx context.Context, q Query) ([]permission.Decision, error) {
	s := &session.Session{Location: q.Location}
	if q.SessionID != "" {
		var err error
		if s, err = a.journal.ReadSession(ctx, q.SessionID); err != nil {
			return nil, err
		}
	}
	scope, release, err := a.locations.Scope(ctx, s.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if q.SessionID == "" {
		s.ProjectID, s.Location = scope.ProjectID, scope.Location
	}
	layers, err := a.CollectRules(ctx, scope, s, scope.FindAgent(cmp.Or(q.Agent, s.Agent)))
	if err != nil {
		return nil, err
	}
	layers = rulesFor(layers, q.Action)
	saved, err := a.readApprovals(ctx, s.ApprovalScope())
	if err != nil {
		return nil, err
	}
	var out []permission.Decision
	for _, resource := range q.Resources {
		for _, r := range listRequests(scope, q.Action, resource) {
			subject := permission.Subject{Action: r.Action, Resources: r.Resources, Command: r.Command}
			for _, d := range permission.Explain(layers, saved, subject) {
				allowedRead := q.Action == permission.Shell && r.Action == actionRead && d.Effect == session.Allow
				if !allowedRead { // these would only hide the decision about the command
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
}

// actionRead is the action of the tool read. The files that a command reads are checked under it, too.
const actionRead = "read"

// listRequests returns what a call would ask for. For a command this includes the files that it names but that do not
// exist yet.
func listRequests(s *location.Scope, action, resource string) (out []tool.Request) {
	if s.Requests != nil {
		out = s.Requests(action, resource)
	}
	if action == permission.Shell {
		out = append(missingReads(s, resource, out), out...)
	}
	if !slices.ContainsFunc(out, func(r tool.Request) bool { return r.Action == action }) {
		out = append(out, tool.Request{Action: action, Resources: []string{resource}})
	}
	return out
}

// missingReads returns requests for the files that a command would read and that requests does not cover.
func missingReads(s *location.Scope, command string, requests []tool.Request) (out []tool.Request) {
	for _, r := range permission.Reaches(command) {
		r.Path = resourceName(s, r.Path)
		covers := func(k tool.Request) bool { return k.Action == r.Action && slices.Contains(k.Resources, r.Path) }
		if r.Action == actionRead && !slices.ContainsFunc(slices.Concat(requests, out), covers) {
			out = append(out, tool.Request{Action: r.Action, Resources: []string{r.Path}})
		}
	}
	return out
}

// resourceName returns a path as rules name it: relative to the worktree, symbolic links unresolved.
func resourceName(s *location.Scope, name string) string {
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
