package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/session"
)

// chosen checks the agent and the model that a prompt brings against its session's location. Those of a prompt that is Named
// and leaves them open become what the location would use: its default agent, and the agent's model, else the session's,
// else the default. The variant is the one asked for, else that of the agent's model: one that was asked for once does not
// hold for what comes later.
func (e *Engine) chosen(ctx context.Context, r *PromptRequest) error {
	p := &r.Prompt
	if p.Agent == "" && p.Model == nil && !r.Named {
		return nil
	}
	s, err := e.session(ctx, r.SessionID)
	if err != nil {
		return err
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return err
	}
	defer release()
	if err := scope.selectable(p.Agent, p.Model); err != nil || !r.Named {
		return err
	}
	if p.Agent == "" {
		p.Agent = scope.DefaultAgent
	}
	if p.Model != nil {
		return nil
	}
	own := scope.Agents[p.Agent].Model
	switch {
	case own != nil:
		p.Model = new(*own)
	case s.Model != nil:
		p.Model = &session.ModelRef{ID: s.Model.ID, ProviderID: s.Model.ProviderID}
	default:
		ref, err := scope.Models.Default()
		if err != nil {
			return nil // that there is none is what the turn will say
		}
		p.Model = &ref
	}
	if r.Variant == "" {
		return nil
	}
	p.Model.Variant = r.Variant
	return scope.selectable("", p.Model)
}
