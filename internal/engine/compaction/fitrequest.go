package compaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// compactionAgent is the agent whose prompt and model write summaries.
const compactionAgent = "compaction"

// FitRequest is the next request of a session to its model, with its sources and its size.
type FitRequest struct {
	Session *session.Session
	Scope   *scope.Scope
	Sources systemcontext.Context // what the next epoch is rendered from
	Agent   session.Agent
	Model   *scope.Model
	Epoch   *store.Epoch
	History *history.History

	Rejected bool // the provider found the request too large, whatever the estimate

	Built  *llm.Request // set by Build, as the rest
	Size   scope.RequestSize
	Tokens int64 // estimated
}

// Build builds the request from in and estimates its tokens.
func (q *FitRequest) Build(in *history.Input) {
	q.Built = history.BuildRequest(in)
	q.Size = scope.MeasureRequest(q.Built)
	q.Tokens = scope.EstimateNext(q.Size, q.History.ReportedUsage(q.Model.Ref), q.Model.TokensPerByte)
}

// IsTooLarge reports whether the request leaves no room for an answer. It is false if the model's window is unknown.
func (q *FitRequest) IsTooLarge() bool {
	limit := q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved)
	return limit > 0 && q.Tokens >= limit
}

// NearlyFillsWindow reports whether the request takes more than 80 % of the model's window, or 16,000 tokens of an
// unknown one, and a summary can make it smaller.
func (q *FitRequest) NearlyFillsWindow() bool {
	const unknown = 16_000
	limit := q.Model.Window.InputLimit() / 5 * 4
	if limit == 0 {
		limit = unknown
	}
	rejected := *q
	rejected.Rejected = true
	return q.Tokens > limit && rejected.CheckCompaction() == nil
}

// NeedsCompaction reports whether the request is replaced by a compaction instead of being sent.
func (q *FitRequest) NeedsCompaction() bool { return q.Scope.Compaction.Auto && q.IsTooLarge() }

// HidesOutputs reports whether old outputs are hidden before the request of in is sent: if it would not fit, or if
// hiding them costs no cache because its beginning changes anyway.
func (q *FitRequest) HidesOutputs(in *history.Input) bool {
	return q.Scope.Compaction.Prune != scope.PruneNever && (q.NeedsCompaction() || in.ChangesPrefix())
}

// ListPrunable returns the outputs that can be hidden, and their tokens.
func (q *FitRequest) ListPrunable() (turns []PrunedTurn, freed int64) {
	return ListPrunable(q.History.VisibleMessages(q.Epoch.BaselineSeq), func(t *session.Tool) int64 {
		return scope.MeasureText(history.OutputText(t)).EstimateTokens(q.Model.TokensPerByte)
	})
}

// maxStalled is the number of automatic compactions in a row without effect after which no further one begins.
const maxStalled = 2

// CheckCompaction returns why no automatic compaction can make the request fit; nil if one may.
func (q *FitRequest) CheckCompaction() error {
	fixed := int64(0)
	for _, part := range q.fixedParts() {
		fixed += part.tokens
	}
	switch {
	case !q.Rejected && fixed > q.Model.Window.InputLimit():
		return q.describeOverflow()
	case q.Session.Stalled >= maxStalled:
		return q.describeStall()
	case q.selectMessages().IsEmpty():
		return q.describeOverflow()
	default:
		return nil
	}
}

// requestPart is a part of every request of a turn.
type requestPart struct {
	name   string
	tokens int64
}

// toolsPart is the name of the part that the configuration makes smaller.
const toolsPart = "the definitions of the tools"

// fixedParts returns the parts that no compaction makes smaller.
func (q *FitRequest) fixedParts() []requestPart {
	ratio := q.Model.TokensPerByte
	textSize := func(text string) int64 { return scope.MeasureText(text).EstimateTokens(ratio) }
	parts := []requestPart{
		{"the prompt of the agent " + q.Agent.ID, textSize(q.Agent.System + q.Model.System)},
		{"the system context (instructions, skills, pinned texts)", textSize(q.Epoch.Baseline)},
		{toolsPart, scope.MeasureTools(q.Built.Tools).EstimateTokens(ratio)},
	}
	if u := q.History.NewestPrompt(); u != nil {
		lowered := history.Lower([]session.Message{u}, q.Model, q.Session.Excluded...)
		tokens := scope.MeasureMessages(lowered).EstimateTokens(ratio)
		parts = append(parts, requestPart{"the prompt with its attachments", tokens})
	}
	return parts
}

// describeStall returns the error for a request that does not fit although the past was summarised.
func (q *FitRequest) describeStall() error {
	return fmt.Errorf("%s, and %d summaries of the history did not help: choose a model with a larger window, "+
		"request a summary (/compact), or start a new session", q.describeProblem("history"), q.Session.Stalled)
}

// DescribeRejection returns f, with which the provider rejected the request as too large, with the next step for the
// user: request a summary, or what to shorten if no summary would help. It sets q.Rejected.
func (q *FitRequest) DescribeRejection(f *session.Failure) *session.Failure {
	described := *f
	q.Rejected = true
	if err := q.CheckCompaction(); err != nil {
		described.Message = err.Error()
		return &described
	}
	described.Message += "; request a summary (/compact, cairn session compact), choose a model with a larger window, " +
		"or start a new session"
	if !q.Scope.Compaction.Auto {
		described.Message += " (none begins by itself: compaction.auto is false)"
	}
	return &described
}

// describeProblem says that what, such as the history, does not fit, or that the provider rejected the request.
func (q *FitRequest) describeProblem(what string) string {
	if q.Rejected {
		return fmt.Sprintf("the provider of %s rejects the request of about %d tokens as too large", q.Model.Ref, q.Tokens)
	}
	return fmt.Sprintf("the %s does not fit the context window of %s (%s)", what, q.Model.Ref, q.describeSize())
}

// describeOverflow returns the error for a request that cannot be made to fit, with its largest parts.
func (q *FitRequest) describeOverflow() error {
	parts := q.fixedParts()
	if c := q.selectMessages().Previous; c != nil {
		parts = append(parts, requestPart{"the summary with its facts", q.measureMessages(c)})
	}
	slices.SortStableFunc(parts, func(a, b requestPart) int { return cmp.Compare(b.tokens, a.tokens) })
	var names []string
	for _, p := range parts {
		if p.tokens > 0 {
			names = append(names, fmt.Sprintf("%s %d", p.name, p.tokens))
		}
	}
	hint := ""
	if parts[0].name == toolsPart {
		hint = ` (tools are left out with "tools": {"task": false, "webfetch": false} and the like in the configuration)`
	}
	return fmt.Errorf(
		"%s, and a summary would not help: %s tokens; shorten the largest%s or choose a model with a larger window",
		q.describeProblem("request"), strings.Join(names, ", "), hint,
	)
}

// describeSize compares the estimated size of the request with the model's window.
func (q *FitRequest) describeSize() string {
	limit, room := q.Model.Window.InputLimit(), q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved)
	switch {
	case limit == 0:
		return fmt.Sprintf("about %d tokens", q.Tokens)
	case q.Tokens > limit:
		return fmt.Sprintf("about %d of %d tokens", q.Tokens, limit)
	default:
		return fmt.Sprintf("about %d of %d tokens, %d of them for the answer", q.Tokens, limit, limit-room)
	}
}

// requestRoom returns the largest request that leaves room for the answer, 0 if that is unknown. A request that the
// provider rejected is larger than that, whatever window is known of the model.
func (q *FitRequest) requestRoom() int64 {
	room := q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved)
	if q.Rejected && (room == 0 || q.Tokens < room) {
		return q.Tokens
	}
	return room
}

// keepLimits returns how much of the newest history stays as it is: a quarter of the room, within bounds, or what is
// configured. After a rejection, or a compaction without progress, it is at most a quarter of the request.
func (q *FitRequest) keepLimits() Limits {
	const least, most, unknown = 2000, 15_000, 8000
	keep := int64(unknown)
	if room := q.requestRoom(); room > 0 {
		keep = min(most, max(least, room/4))
	}
	c := q.Scope.Compaction
	keep = cmp.Or(c.Keep, keep)
	if q.Rejected || q.Session.Stalled > 0 {
		keep = min(keep, max(least, q.Tokens/4))
	}
	return Limits{Tokens: keep, Turns: c.Turns, Size: func(m session.Message) int64 {
		return q.measureMessages(m)
	}}
}

// measureMessages estimates the tokens of messages as the turn's model reads them.
func (q *FitRequest) measureMessages(ms ...session.Message) int64 {
	lowered := history.Lower(ms, q.Model, q.Session.Excluded...)
	return scope.MeasureMessages(lowered).EstimateTokens(q.Model.TokensPerByte)
}

// estimateAfter estimates the tokens of the next request after the compaction: the parts that stay, the summary and the
// messages that stay visible. The system context is rendered anew then, if its sources can be read.
func (q *FitRequest) estimateAfter(ctx context.Context, c *Choice, end *session.CompactionEnded) int64 {
	rest := scope.RequestSize{Bytes: q.Size.Bytes - scope.MeasureMessages(q.Built.Messages).Bytes}
	shown := []session.Message{session.Begin(end, 0)}
	if c.Prompt != nil {
		shown = append(shown, c.Prompt)
	}
	shown = append(shown, c.Tail...)
	o, err := systemcontext.Replace(ctx, q.Sources, q.Epoch.Snapshot)
	if err == nil && o.Kind == systemcontext.OutcomeReady {
		rest.Bytes += int64(len(o.Generation.Baseline) - len(q.Epoch.Baseline))
		shown = slices.DeleteFunc(shown, func(m session.Message) bool { return m.Meta().Type == session.TypeSystem })
	}
	return rest.EstimateTokens(q.Model.TokensPerByte) + q.measureMessages(shown...)
}

// recordBytes returns how many bytes of prompts a record may have: about an eighth of the window.
func (q *FitRequest) recordBytes() int {
	const unknown = 12_000
	if room := q.requestRoom(); room > 0 {
		return int(float64(room) / 8 / scope.ClampRatio(q.Model.TokensPerByte))
	}
	return unknown
}

// selectMessages chooses what a compaction replaces.
func (q *FitRequest) selectMessages() *Choice {
	visible := q.History.VisibleMessages(q.Epoch.BaselineSeq)
	return Select(visible, q.History.NeedsTurn(), q.keepLimits())
}

// newSummaryRequest returns what the writer of the summary is asked.
func (q *FitRequest) newSummaryRequest(
	writer *scope.Model, c *Choice, record *session.Record,
) SummaryRequest {
	request := SummaryRequest{
		SessionID: q.Session.ID, Model: writer, System: q.Scope.Agents[compactionAgent].System, Record: record,
		Transcript: WriteTranscript(c.Head), HeadTokens: q.measureMessages(c.Head...),
	}
	if c.Previous != nil {
		request.Previous = c.Previous.Summary
	}
	return request
}

// findWriter returns the model that writes the summary: the requested one, else that of the agent for compactions,
// else the conversation's own.
func (q *FitRequest) findWriter(request *session.Input) (*scope.Model, error) {
	a := q.Scope.Agents[compactionAgent]
	switch {
	case request != nil && request.Compaction.Model != nil:
		return q.Scope.Models.Resolve(*request.Compaction.Model, a)
	case a.Model == nil:
		m, err := q.Scope.Models.Resolve(q.Model.Ref, a)
		if err == nil && m.Window != q.Model.Window { // the session knows better
			own := *m
			own.Window = q.Model.Window
			return &own, nil
		}
		return m, err
	}
	m, err := q.Scope.Models.Resolve(*a.Model, a)
	if err != nil {
		return nil, fmt.Errorf("find the model of the agent %s: %w", compactionAgent, err)
	}
	return m, nil
}

// readRecord returns the facts of the messages that are summarised, with the asks that are pending now.
func (q *FitRequest) readRecord(
	ctx context.Context, s store.Viewer, c *Choice,
) (record *session.Record, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		rows, err := r.Asks(store.AskQuery{SessionID: q.Session.ID, Pending: true})
		var asks []string
		for _, row := range rows {
			asks = append(asks, describeAsk(row.PendingAsk))
		}
		record = NewRecord(c, q.Session.Todos, asks, q.recordBytes())
		return err
	})
	return record, err
}

func describeAsk(a session.PendingAsk) string {
	if a.IsQuestion() {
		var texts []string
		for _, q := range a.Questions {
			texts = append(texts, q.Question)
		}
		return strings.Join(texts, " ")
	}
	return fmt.Sprintf("may it %s %s", a.Action, strings.Join(a.Resources, ", "))
}
