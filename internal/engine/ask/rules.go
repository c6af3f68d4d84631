package ask

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxAncestors bounds the chain of parent sessions whose rules apply.
const maxAncestors = 32

// CollectRules returns the permission rules for the agent's work in the session, lowest precedence first. The current
// rules of the parent sessions are ceilings: a child session may never do what a parent may not. If a parent cannot
// be found, everything is denied.
func (a *Asks) CollectRules(
	ctx context.Context, scope *scope.Scope, s *session.Session, agent session.Agent,
) ([]permission.Layer, error) {
	layers := scope.RulesFor(agent, s)
	for depth, parent := 0, s.ParentID; parent != ""; depth++ {
		ceilings, next, err := a.readCeilings(ctx, parent)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return nil, err
		}
		if err != nil || depth == maxAncestors {
			deny := []session.Rule{{Action: "*", Resource: "*", Effect: session.Deny}}
			none := permission.Layer{Name: "parent", Source: "the parent session is gone", Rules: deny, Ceiling: true}
			ceilings, next = []permission.Layer{none}, ""
		}
		layers = append(slices.Clone(layers), ceilings...)
		parent = next
	}
	return layers, nil
}

// readCeilings returns the ceilings that a session puts on its child sessions, and its own parent.
func (a *Asks) readCeilings(ctx context.Context, id session.ID) ([]permission.Layer, session.ID, error) {
	s, err := a.journal.ReadSession(ctx, id)
	if err != nil {
		return nil, "", err
	}
	scope, release, err := scope.Open(ctx, a.locations, s)
	if err != nil {
		return nil, "", err
	}
	defer release()
	return permission.AsCeiling(scope.RulesFor(scope.FindAgent(s.Agent), s)), s.ParentID, nil
}

// filterRules keeps the rules that name the action.
func filterRules(layers []permission.Layer, action string) []permission.Layer {
	var out []permission.Layer
	for _, l := range layers {
		named := l
		named.Rules, named.RuleSources = nil, nil
		for i, r := range l.Rules {
			if r.Action == action {
				named.Rules, named.RuleSources = append(named.Rules, r), append(named.RuleSources, l.RuleSource(i))
			}
		}
		out = append(out, named)
	}
	return out
}

// rulesFor returns the layers that apply to the action: an ask of the engine itself must be named by a rule.
func rulesFor(layers []permission.Layer, action string) []permission.Layer {
	if action == ActionBudget || action == ActionLoop {
		return filterRules(layers, action)
	}
	return layers
}
