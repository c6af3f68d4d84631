package admit

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// showPrompt shows a new prompt to the extensions of its session's location, and checks what they made of it. An
// extension that fails refuses the prompt.
func (c *Commands) showPrompt(ctx context.Context, r *PromptRequest) error {
	s, admitted, err := c.readTarget(ctx, r)
	if err != nil || admitted {
		return err
	}
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return nil //nolint:nilerr // the turn reports what is wrong with the location
	}
	defer release()
	run := scope.Chain.Begin()
	if run == nil {
		return nil
	}
	// Show it.
	v := extension.Prompt{SessionID: r.SessionID, ParentID: s.ParentID, MessageID: r.ID, Prompt: r.Prompt}
	by, err := run.Prompt(ctx, &v)
	if failure, ok := errors.AsType[*extension.Error](err); ok {
		return session.Errorf(session.CodeInvalid, "the extension %s refused the prompt: %v", failure.Extension, failure.Err).
			At("prompt")
	}
	if err != nil || len(by) == 0 {
		return err
	}
	// What they changed is a prompt as any other.
	sent := r.Prompt
	r.original, r.extensions, r.Prompt = &sent, by, v.Prompt
	if err := c.checkPrompt(r); err != nil {
		return err
	}
	return c.resolvePrompt(ctx, r)
}
