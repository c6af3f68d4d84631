package engine

import (
	"context"
)

// chosen checks the agent and the model that a prompt brings against its session's location. Those of a prompt that is Named
// and leaves them open become what the location would use: its default agent, and the agent's model, else the session's,
// else the default. The variant is the one asked for, else that of the model that was named or of the agent's.
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
	if err := scope.CheckSelection(p.Agent, p.Model); err != nil || !r.Named {
		return err
	}
	if p.Agent == "" {
		p.Agent = scope.DefaultAgent
	}
	if p.Model == nil {
		p.Model = scope.PromptModel(s, p.Agent)
	}
	if r.Variant == "" || p.Model == nil {
		return nil
	}
	m := *p.Model
	m.Variant, p.Model = r.Variant, &m
	return scope.CheckSelection("", p.Model)
}
