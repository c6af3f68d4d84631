// Package nextrequest shows the request that a session's next turn would send, by its sources. It reads: it promotes
// no prompt, stores nothing and asks no model.
package nextrequest

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Inspector builds requests. It is safe for concurrent use.
type Inspector struct {
	Store  store.Viewer
	Scopes scope.Scopes
	Rules  Rules
}

// Rules returns the permission rules of a turn.
type Rules interface {
	CollectRules(
		ctx context.Context, loc *scope.Scope, s *session.Session, agent session.Agent,
	) ([]permission.Layer, error)
}

// NextRequest returns the request that the session's next turn would send now, with its texts if full.
func (i Inspector) NextRequest(ctx context.Context, id session.ID, full bool) (api.ContextRequest, error) {
	d, release, err := i.buildDraft(ctx, id)
	if err != nil {
		return api.ContextRequest{}, err
	}
	defer release()
	out := d.describeRequest()
	if full {
		out.Request = showRequest(d.Built)
	}
	return out, nil
}

// PreviewCompaction returns what a compaction of the session would do now, with the question to the writer if full.
func (i Inspector) PreviewCompaction(
	ctx context.Context, id session.ID, r session.CompactionRequest, full bool,
) (out api.CompactionPreview, err error) {
	d, release, err := i.buildDraft(ctx, id)
	if err != nil {
		return out, err
	}
	defer release()
	p, err := d.FitRequest.PreviewCompaction(ctx, i.Store, &r)
	if err != nil {
		return out, err
	}
	if p == nil {
		return out, session.Conflict("session", string(id), "has nothing to summarise")
	}
	questions := p.SummaryRequest.ListQuestions()
	kept := p.Tail
	if p.Prompt != nil {
		kept = append([]session.Message{p.Prompt}, kept...)
	}
	out = api.CompactionPreview{
		SessionID: id, Writer: p.Writer.Ref, Before: d.Tokens, Requests: len(questions),
		Summarised: api.ContextShare{Messages: len(p.Head), Tokens: p.SummaryRequest.HeadTokens},
		Kept:       api.ContextShare{Messages: len(kept), Tokens: d.EstimateMessages(kept...)},
		Record:     maskText(history.RecordText(p.Record)),
	}
	if full && len(questions) > 0 {
		out.System, out.Question = maskText(p.SummaryRequest.System), maskText(questions[0].Text())
	}
	return out, nil
}

// buildDraft builds the next request. The caller calls release.
func (i Inspector) buildDraft(ctx context.Context, id session.ID) (d *draft, release func(), err error) {
	v, err := store.Query(ctx, i.Store, func(r store.Reader) (*storedState, error) { return readState(r, id) })
	if err != nil {
		return nil, nil, err
	}
	loc, leave, err := i.Scopes.Scope(ctx, v.session.Location)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	d = &draft{prompts: v.prompts, hidden: v.hidden}
	agent := loc.FindAgent(v.session.Agent)
	rights, err := i.Rules.CollectRules(ctx, loc, v.session, agent)
	if err != nil {
		return nil, nil, err
	}
	if policy, err := ask.ParsePolicy(v.policy); err == nil && policy.Kind != ask.PolicyInteractive {
		rights = scope.RemoveOpenRules(rights)
	}
	sources, err := loc.Context(ctx, scope.ContextInput{Session: v.session, Agent: agent})
	if err != nil {
		return nil, nil, err
	}
	if err := d.reconcile(ctx, v, sources); err != nil {
		return nil, nil, err
	}
	model, err := loc.ResolveModel(v.session.Model, agent)
	if err != nil {
		return nil, nil, err
	}
	d.FitRequest = &compaction.FitRequest{
		Session: v.session, Scope: loc, Agent: agent, Model: model, Epoch: v.epoch, History: v.history,
	}
	d.input = &history.Input{
		Session: v.session, Agent: agent, Rights: rights, Model: model,
		Tools: history.OfferTools(loc.Tools, model, rights), Baseline: v.epoch.Baseline,
		BaselineSeq: v.epoch.BaselineSeq, History: v.history,
		Last: agent.Steps > 0 && v.history.CountTurns() >= int64(agent.Steps-1),
	}
	if d.input.Output, err = v.history.FindOutputSchema(); err != nil {
		return nil, nil, err
	}
	d.Build(d.input)
	return d, leave, nil
}
