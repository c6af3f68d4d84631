package ask

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
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

// Rights are the decisions of the rules and, for a command, its confinement.
type Rights struct {
	Decisions []permission.Decision
	Sandbox   session.SandboxMode // "" for another action
}

// ExplainRights decides about each part of each resource as a call would be decided about now, and names the rules
// that decide. It asks and records nothing.
func (a *Asks) ExplainRights(ctx context.Context, q Query) (out Rights, err error) {
	s := &session.Session{Location: q.Location}
	if q.SessionID != "" {
		if s, err = a.journal.ReadSession(ctx, q.SessionID); err != nil {
			return out, err
		}
	}
	scope, release, err := scope.Open(ctx, a.locations, s)
	if err != nil {
		return out, err
	}
	defer release()
	if err := scope.CheckSelection(q.Agent, nil); err != nil {
		return out, err
	}
	if q.SessionID == "" {
		s.ProjectID, s.Location = scope.ProjectID, scope.Location
	}

	// Collect the rules and approvals.
	agent := scope.FindAgent(cmp.Or(q.Agent, s.Agent))
	layers, err := a.CollectRules(ctx, scope, s, agent)
	if err != nil {
		return out, err
	}
	saved, err := a.readApprovals(ctx, scope.RecordID, session.ID(q.SessionID))
	if err != nil {
		return out, err
	}

	// Decide about each request that a call would make.
	layers = rulesFor(layers, q.Action)
	var byPerson bool // a person has to approve the command before it runs
	var outside bool  // the configuration names it as one that runs outside of the sandbox
	for _, resource := range q.Resources {
		for _, r := range listRequests(scope, q.Action, resource) {
			if q.Action == permission.Shell && r.Command.Line == "" {
				r.Command.Line = resource
			}
			outside = outside || r.Outside
			subject := permission.Subject{Action: r.Action, Resources: r.Resources, Command: r.Command}
			for _, d := range permission.Explain(layers, saved, subject) {
				byPerson = byPerson || r.Action == permission.Shell && d.Effect == session.Ask
				allowedRead := q.Action == permission.Shell && r.Action == "read" && d.Effect == session.Allow
				if !allowedRead { // these would only hide the decision about the command
					out.Decisions = append(out.Decisions, d)
				}
			}
		}
	}

	// A command that asks runs only after a person has approved it, so its mode is that of an approved one.
	if q.Action == permission.Shell {
		c := scope.ChooseConfinement(agent, s, byPerson)
		if out.Sandbox = c.Mode; outside && c.Mode == session.SandboxWrites && !c.ReadOnly {
			out.Sandbox = session.SandboxOff
		}
	}
	return out, nil
}

// listRequests returns what a call would ask for.
func listRequests(s *scope.Scope, action, resource string) (out []tool.Request) {
	if s.Requests != nil {
		out = s.Requests(action, resource)
	}
	if !slices.ContainsFunc(out, func(r tool.Request) bool { return r.Action == action }) {
		out = append(out, tool.Request{Action: action, Resources: []string{resource}})
	}
	return out
}
