package task

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// openChild returns the child session of the task, which it creates unless it exists.
func (c *callTasks) openChild(ctx context.Context, t tool.Task) (*session.Session, error) {
	// The id follows from the call, so that a call that is run again finds its child.
	id := c.childID()
	if t.Continue != "" {
		id = t.Continue
	}
	// Read the child, or what decides whether there may be another one.
	var found *session.Session
	var siblings []*session.Session
	parent := c.caller.Session
	depth, above := 1, []string{parent.Agent}
	err := c.Journal.Store.View(ctx, func(r store.Reader) (err error) {
		found, err = store.FindSession(r, id)
		if missing := (&session.Error{Code: session.CodeNotFound}); err != nil && !errors.Is(err, missing) {
			return err
		}
		if found != nil {
			return nil
		}
		for up := parent; up.ParentID != "" && depth <= c.Limits.Depth; depth++ {
			if up, err = store.FindSession(r, up.ParentID); err != nil {
				return err
			}
			above = append(above, up.Agent)
		}
		siblings, err = store.ReadSessions(r, store.SessionQuery{
			ParentID: &parent.ID, Archived: true, Limit: c.Limits.Children,
		})
		return err
	})
	// An existing child must be of this caller. A new one must not work for itself, too deep, or beside too many.
	switch {
	case err != nil:
		return nil, err
	case found != nil && found.ParentID != parent.ID:
		return nil, tool.Failf("The session %s is not that of a task of this session.", id)
	case found != nil && t.Continue != "" && found.Agent != t.Agent:
		return nil, tool.Failf("The task %s is one of the subagent %q, not of %q: call task with that subagent_type, or "+
			"leave task_id out to begin another one.", id, found.Agent, t.Agent)
	case found != nil:
		return found, nil
	case t.Continue != "":
		return nil, tool.FailUnknownTask(id, siblings)
	case slices.Contains(above, t.Agent) && !slices.Contains(c.caller.Chosen, t.Agent):
		return nil, tool.Failf("The subagent %q works above this session already, and subagents do not work for each other "+
			"in a circle; do the work yourself or call another one.", t.Agent)
	case depth > c.Limits.Depth:
		return nil, tool.Failf("Subagents may work for each other %d deep, and this would be deeper; "+
			"do the work yourself.", c.Limits.Depth)
	case len(siblings) >= c.Limits.Children:
		return nil, tool.Failf("This session has as many child sessions as it may have, %d; "+
			"continue one with its task_id, or do the work yourself.", len(siblings))
	}
	return c.createChild(ctx, t)
}

// createChild creates the session of the task. It may do what its parent may, and is no more open than that.
func (c *callTasks) createChild(ctx context.Context, t tool.Task) (*session.Session, error) {
	parent := c.caller.Session
	scope, release, err := scope.Open(ctx, c.Locations, parent)
	if err != nil {
		return nil, err
	}
	defer release()
	agent := scope.FindAgent(t.Agent)
	r := admit.CreateRequest{
		ID: c.childID(), ParentID: parent.ID, Agent: agent.ID, Location: parent.Location,
		Title: t.Description + " (@" + agent.ID + " subagent)", Permission: childRules(parent, agent),
		Open: parent.Open, Contract: parent.Contract, Sandbox: parent.Sandbox, UnderWay: true,
	}
	if agent.Model == nil {
		model := c.caller.Model
		r.Model = &model
	}
	child, err := c.Commands.CreateSession(ctx, r)
	if err != nil {
		return nil, errorForModel(err)
	}
	return child, nil
}

// childRules returns the rules of a child session: what the parent session denies, and its rules about other
// directories; no subagents and no list of todos, unless the agent's own rules mention them.
func childRules(parent *session.Session, agent session.Agent) (rules []session.Rule) {
	for _, r := range parent.Permission {
		if r.Effect == session.Deny || r.Action == "external_directory" {
			rules = append(rules, r)
		}
	}
	for _, action := range []string{"todowrite", tool.NameTask} {
		if !slices.ContainsFunc(agent.Permissions, func(r session.Rule) bool { return r.Action == action }) {
			rules = append(rules, session.Rule{Action: action, Resource: "*", Effect: session.Deny})
		}
	}
	return rules
}
