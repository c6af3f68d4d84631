package shrink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/summary"
	"github.com/cairn-dev/cairn/internal/engine/window"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// compactionAgent is the agent whose prompt and model write summaries.
const compactionAgent = "compaction"

// Request is the next request of a session, with what it was built from and its size.
type Request struct {
	Session *session.Session
	Scope   *location.Scope
	Agent   session.Agent
	Model   *location.Model
	Epoch   *store.Epoch
	History *history.History

	Built  *llm.Request // set by Build, as the rest
	Load   window.Load
	Tokens int64 // estimated
}

// Build builds the request from in and estimates its tokens.
func (q *Request) Build(in *history.Input) {
	q.Built = history.BuildRequest(in)
	q.Load = window.MeasureRequest(q.Built)
	q.Tokens = window.EstimateNext(q.Load, q.History.ReportedUsage(q.Model.Ref), q.Model.TokensPerByte)
}

// IsTooLarge reports whether the request leaves no room for an answer. It is false if the model's window is unknown.
func (q *Request) IsTooLarge() bool {
	limit := q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved)
	return limit > 0 && q.Tokens >= limit
}

// CheckFixedSize returns an error if what every request of the turn has is larger than the window.
func (q *Request) CheckFixedSize() error {
	fixed := int64(0)
	for _, part := range q.fixedParts() {
		fixed += part.tokens
	}
	if fixed <= q.Model.Window.InputLimit() {
		return nil
	}
	return q.DescribeOverflow()
}

// requestPart is a part of every request of a turn.
type requestPart struct {
	name   string
	tokens int64
}

// fixedParts returns the parts that no compaction makes smaller, the largest first.
func (q *Request) fixedParts() []requestPart {
	ratio := q.Model.TokensPerByte
	textSize := func(text string) int64 { return window.Load{Bytes: int64(len(text))}.EstimateTokens(ratio) }
	parts := []requestPart{
		{"the prompt of the agent " + q.Agent.ID, textSize(q.Agent.System + q.Model.System)},
		{"the system context (instructions, skills)", textSize(q.Epoch.Baseline)},
		{"the definitions of the tools", window.MeasureTools(q.Built.Tools).EstimateTokens(ratio)},
	}
	if u := q.History.NewestPrompt(); u != nil {
		lowered := history.Lower([]session.Message{u}, q.Model, q.Session.Excluded...)
		parts = append(
			parts,
			requestPart{"the prompt with its attachments", window.MeasureMessages(lowered).EstimateTokens(ratio)},
		)
	}
	slices.SortFunc(parts, func(a, b requestPart) int { return cmp.Compare(b.tokens, a.tokens) })
	return parts
}

// DescribeStall returns the error for a request that does not fit although the past was summarised n times.
func (q *Request) DescribeStall(n int) error {
	return fmt.Errorf(
		"the history does not fit the context window of %s (about %d of %d tokens), and %d summaries of it "+
			"did not help: choose a model with a larger window, compact it by hand, or start a new session",
		q.Model.Ref,
		q.Tokens,
		q.Model.Window.InputLimit(),
		n,
	)
}

// DescribeOverflow returns the error for a request that cannot be made to fit, with its largest parts.
func (q *Request) DescribeOverflow() error {
	var names []string
	for _, p := range q.fixedParts() {
		if p.tokens > 0 {
			names = append(names, fmt.Sprintf("%s %d", p.name, p.tokens))
		}
	}
	return fmt.Errorf("the request does not fit the context window of %s, which has %d tokens, and a summary would not "+
		"help: %s tokens; shorten the largest or choose a model with a larger window",
		q.Model.Ref, q.Model.Window.InputLimit(), strings.Join(names, ", "))
}

// keepLimits returns how much of the newest history stays as it is: a quarter of the window, within bounds.
func (q *Request) keepLimits() compaction.Limits {
	const least, most, unknown = 2000, 15_000, 8000
	c := q.Scope.Compaction
	keep := int64(unknown)
	if room := q.Model.Window.RequestLimit(c.Reserved); room > 0 {
		keep = min(most, max(least, room/4))
	}
	return compaction.Limits{Tokens: cmp.Or(c.Keep, keep), Turns: c.Turns, Size: func(m session.Message) int64 {
		return q.measureMessages(m)
	}}
}

// measureMessages estimates the tokens of messages as the turn's model reads them.
func (q *Request) measureMessages(ms ...session.Message) int64 {
	lowered := history.Lower(ms, q.Model, q.Session.Excluded...)
	return window.MeasureMessages(lowered).EstimateTokens(q.Model.TokensPerByte)
}

// estimateAfter estimates the tokens of the next request with the compaction.
func (q *Request) estimateAfter(c *compaction.Choice, end *session.CompactionEnded) int64 {
	rest := window.Load{Bytes: q.Load.Bytes - window.MeasureMessages(q.Built.Messages).Bytes}
	summarised, _ := session.Begin(end, 0).(*session.Compaction)
	shown := []session.Message{summarised}
	if c.Prompt != nil {
		shown = append(shown, c.Prompt)
	}
	return rest.EstimateTokens(q.Model.TokensPerByte) + q.measureMessages(append(shown, c.Tail...)...)
}

// recordBytes returns how many bytes of prompts a record may have: about an eighth of the window.
func (q *Request) recordBytes() int {
	const unknown = 12_000
	if room := q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved); room > 0 {
		return int(float64(room) / 8 / window.ClampRatio(q.Model.TokensPerByte))
	}
	return unknown
}

// selectMessages chooses what a compaction replaces.
func (q *Request) selectMessages() *compaction.Choice {
	visible := q.History.VisibleMessages(q.Epoch.BaselineSeq)
	return compaction.Select(visible, q.History.NeedsTurn(), q.keepLimits())
}

// newOrder returns what the writer of the summary is asked.
func (q *Request) newOrder(
	writer *location.Model, c *compaction.Choice, record *session.Record,
) summary.Request {
	order := summary.Request{
		SessionID: q.Session.ID, Model: writer, System: q.Scope.Agents[compactionAgent].System, Record: record,
		Transcript: compaction.WriteTranscript(c.Head), HeadTokens: q.measureMessages(c.Head...),
	}
	if c.Previous != nil {
		order.Previous = c.Previous.Summary
	}
	return order
}

// findWriter returns the model that writes the summary: the requested one, else that of the agent for compactions,
// else the conversation's own.
func (q *Request) findWriter(request *session.Input) (*location.Model, error) {
	a := q.Scope.Agents[compactionAgent]
	ref := q.Model.Ref
	if a.Model != nil {
		ref = *a.Model
	}
	if request != nil && request.Compaction.Model != nil {
		ref = *request.Compaction.Model
	}
	return q.Scope.Models.Resolve(ref, a)
}

// readRecord returns the facts of the hidden past.
func (q *Request) readRecord(
	ctx context.Context, s store.Viewer, c *compaction.Choice,
) (record *session.Record, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		rows, err := r.Asks(store.AskQuery{SessionID: q.Session.ID, Pending: true})
		var asks []string
		for _, row := range rows {
			asks = append(asks, describeAsk(row.PendingAsk))
		}
		record = compaction.NewRecord(c, q.Session.Todos, asks, q.recordBytes())
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
