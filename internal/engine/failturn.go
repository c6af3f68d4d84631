package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Turns that end before their request.

// emptyInput is the input of a turn whose request cannot be built.
func emptyInput(s *session.Session) *turnInput {
	return &turnInput{session: s, scope: &scope.Scope{}, agent: session.Agent{ID: s.Agent}}
}

// failWithoutRequest ends a turn for which no request could be sent, so that its prompt has an answer.
func (d *drain) failWithoutRequest(ctx context.Context, input *turnInput, e ending) error {
	if input.model == nil {
		input.model = &scope.Model{Ref: selectedModel(input)}
	}
	if input.prompt == "" {
		now, err := d.readBoundary(context.WithoutCancel(ctx), "")
		if err != nil {
			return err
		}
		input.prompt = now.prompt
	}
	_, err := d.recordEnding(ctx, d.newTurn(input, sentRequest{}), e)
	return err
}

// selectedModel returns the model that the turn would use, as far as it can be determined.
func selectedModel(input *turnInput) session.ModelRef {
	switch {
	case input.session.Model != nil:
		return *input.session.Model
	case input.agent.Model != nil:
		return *input.agent.Model
	case input.earlier != nil:
		return *input.earlier
	case input.scope.Models != nil:
		if ref, err := input.scope.Models.Default(); err == nil {
			return ref
		}
	}
	return session.ModelRef{ID: "unknown", ProviderID: "unknown"}
}

// failModel ends a turn whose model cannot be resolved.
func (d *drain) failModel(ctx context.Context, input *turnInput, err error) error {
	if input.compaction != nil {
		return d.refuseCompaction(ctx, input, err)
	}
	f := turnlog.DescribeFailure(err)
	if f.Reason == session.ReasonUnavailable {
		f.Reason = session.ReasonModel
	}
	return d.failWithoutRequest(ctx, input, endOfFailed(f, err))
}

// failBoundary ends a turn whose boundary failed. An error that a retry cannot repair is the answer to the prompts. An
// incomplete system context fails a turn while the prompts stay pending: the next prompt, or a restart, tries again.
func (d *drain) failBoundary(
	ctx context.Context, input *turnInput, pending []*session.Input, next session.Delivery, err error,
) error {
	if _, blocked := errors.AsType[*systemcontext.BlockedError](err); blocked && input.compaction != nil {
		return d.refuseCompaction(ctx, input, err)
	}
	if b, ok := errors.AsType[*systemcontext.BlockedError](err); ok {
		f := session.Fail(session.ReasonContext, b.Error()+"; the prompt is kept and sent together with the next one")
		if n := len(pending); n > 0 {
			input.prompt = pending[n-1].ID
		}
		return d.failWithoutRequest(ctx, input, endOfFailed(f, err))
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, fault.ErrInjected) {
		return err
	}
	return d.failLocation(ctx, next, input, err)
}

// failLocation answers the eligible prompts, or the request for a compaction, with the error of their location, such as
// a broken configuration.
func (d *drain) failLocation(ctx context.Context, next session.Delivery, input *turnInput, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if input.compaction != nil {
		return d.refuseCompaction(ctx, input, err)
	}
	if _, perr := d.promote(ctx, promotion{next: next, titlePrompt: input.session.IsUntitled()}); perr != nil {
		return perr
	}
	return d.failWithoutRequest(ctx, emptyInput(input.session), endOfFailed(turnlog.DescribeFailure(err), err))
}

// refuseCompaction ends the request for a compaction with the reason why the session cannot work: its client and the
// prompts behind it do not wait.
func (d *drain) refuseCompaction(ctx context.Context, input *turnInput, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q := &compaction.FitRequest{Session: input.session, Agent: input.agent, Model: &scope.Model{Ref: selectedModel(input)}}
	return d.engine.shrinker.Refuse(ctx, q, compaction.Cause{Request: input.compaction}, why)
}
