package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxDepth bounds how many sessions may stand above one another.
const maxDepth = 32

// rights are the rules that hold for work of the agent in the session, lowest first. A session below another may never
// do what those above it may not: their rules are ceilings, as they are now. Where one of them cannot be told any more,
// nothing is allowed.
func (e *Engine) rights(ctx context.Context, scope *location.Scope, s *session.Session, a session.Agent) ([]permission.Layer, error) {
	layers := scope.RulesFor(a, s)
	for depth, parent := 0, s.ParentID; parent != ""; depth++ {
		above, next, err := e.above(ctx, parent)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return nil, err
		}
		if err != nil || depth == maxDepth {
			deny := []session.Rule{{Action: "*", Resource: "*", Effect: session.Deny}}
			above, next = []permission.Layer{{Name: "parent", Source: "the parent session is gone", Rules: deny, Ceiling: true}}, ""
		}
		layers = append(slices.Clone(layers), above...)
		parent = next
	}
	return layers, nil
}

// above returns the ceilings that a session puts on those below it, and the session above itself.
func (e *Engine) above(ctx context.Context, id session.ID) ([]permission.Layer, session.ID, error) {
	s, err := e.session(ctx, id)
	if err != nil {
		return nil, "", err
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return nil, "", err
	}
	defer release()
	return permission.Below(scope.RulesFor(scope.FindAgent(s.Agent), s)), s.ParentID, nil
}
