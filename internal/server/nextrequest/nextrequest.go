// Package nextrequest shows the request that a session's next turn would send, by its sources. The engine builds the
// request; this package measures and describes it.
package nextrequest

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Inspector describes requests. It is safe for concurrent use.
type Inspector struct {
	Engine *engine.Engine
	Store  store.Viewer
}

// NextRequest returns the request that the session's next turn would send now, with its texts if full.
func (i Inspector) NextRequest(ctx context.Context, id session.ID, full bool) (api.ContextRequest, error) {
	q, release, err := i.Engine.BuildNextRequest(ctx, id)
	if err != nil {
		return api.ContextRequest{}, err
	}
	defer release()
	out := report{q}.describeRequest()
	if full {
		out.Request = showRequest(q.Built)
	}
	return out, nil
}

// PreviewCompaction returns what a compaction of the session would do now, with the question to the writer if full.
func (i Inspector) PreviewCompaction(
	ctx context.Context, id session.ID, r session.CompactionRequest, full bool,
) (out api.CompactionPreview, err error) {
	// Plan on the request that the next turn would send.
	q, release, err := i.Engine.BuildNextRequest(ctx, id)
	if err != nil {
		return out, err
	}
	defer release()
	p, err := q.PreviewCompaction(ctx, i.Store, &r)
	if err != nil {
		return out, err
	}
	if p == nil {
		return out, session.Conflict("session", string(id), "has nothing to summarise")
	}
	// The tail is kept, and perhaps a prompt of the head before it.
	questions := p.SummaryRequest.ListQuestions()
	kept := p.Tail
	if p.Prompt != nil {
		kept = append([]session.Message{p.Prompt}, kept...)
	}
	out = api.CompactionPreview{
		SessionID: id, Writer: p.Writer.Ref, Before: q.Tokens, Requests: len(questions),
		Summarised: api.ContextShare{Messages: len(p.Head), Tokens: p.SummaryRequest.HeadTokens},
		Kept:       api.ContextShare{Messages: len(kept), Tokens: q.EstimateMessages(kept...)},
		Record:     maskText(history.RecordText(p.Record)),
	}
	// The question quotes whole messages, so it is sent only if wanted.
	if full && len(questions) > 0 {
		out.System, out.Question = maskText(p.SummaryRequest.System), maskText(questions[0].RenderPrompt())
	}
	return out, nil
}
