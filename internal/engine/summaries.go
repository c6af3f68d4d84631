package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// summaryAgent is the agent that summarises sessions in prose. The summaries of compactions have one of their own.
const summaryAgent = "summary"

// The bounds of summarising a session.
const (
	summaryTimeout  = time.Minute
	summaryMessages = 200  // newest messages that are read
	summaryWork     = 4000 // bytes of the transcript: less work since the last summary is not summarised by itself
)

// startSummary summarises the session concurrently if it has worked enough since its last summary. Nothing waits for
// it.
func (e *Engine) startSummary(id session.ID) {
	e.summaries.Run(id, func(ctx context.Context) {
		if _, err := e.updateSummary(ctx, id, summaryWork); err != nil {
			e.logger.Debug("the session could not be summarised", "session", id, "error", err)
		}
	})
}

// SummarizeSession returns the summary of the session, nil if there is nothing to summarise. What the session did since
// its last summary is summarised first, by the small model; a summary of a user stays as it is.
func (e *Engine) SummarizeSession(ctx context.Context, id session.ID) (*session.ProseSummary, error) {
	return e.updateSummary(ctx, id, 1)
}

// updateSummary returns the summary, written anew if the session has worked at least that many bytes since the last
// one.
func (e *Engine) updateSummary(ctx context.Context, id session.ID, least int) (*session.ProseSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	// Read what is new. Too little work, or a summary that a user wrote, leaves everything as it is.
	w, err := e.readNewWork(ctx, id)
	if err != nil {
		return nil, err
	}
	if w.size() < least || w.session.HasOwnSummary() {
		return w.session.Summary, nil
	}
	// A session that has used up its budget asks no model.
	if err := e.Asks.CheckSpent(ctx, w.session); err != nil {
		if exceeded, ok := errors.AsType[*ask.BudgetError](err); ok {
			err = session.Errorf(session.CodeInvalid, "%v", exceeded)
		}
		return nil, err
	}
	// Find the small model.
	scope, release, err := scope.Open(ctx, e.locations, w.session)
	if err != nil {
		return nil, err
	}
	defer release()
	m, err := scope.ResolveSmallModel(summaryAgent, w.session.Model, scope.FindAgent(w.session.Agent))
	if m == nil {
		return nil, cmp.Or(err, error(session.Errorf(session.CodeInvalid,
			"no small model is available; set small_model in the configuration")))
	}
	return e.writeSummary(ctx, w, m, scope)
}

// writeSummary lets the model write the summary and records it, or what the failed requests used.
func (e *Engine) writeSummary(
	ctx context.Context, w *newWork, m *scope.Model, scope *scope.Scope,
) (*session.ProseSummary, error) {
	// Ask the model.
	text, used, failure := e.shrinker.Summaries.WriteProse(ctx, compaction.SummaryRequest{
		SessionID: w.session.ID, Model: m, System: scope.Agents[summaryAgent].System, Transcript: w.transcript,
		Previous: w.previous,
	})
	if errors.Is(context.Cause(ctx), turnlog.ErrCancelled) { // the session is deleted
		return nil, turnlog.ErrCancelled
	}
	// Describe a failure for people. It is recorded only for what it cost.
	d := &session.Summarized{Request: used}
	d.ProseSummary = session.ProseSummary{Text: text, Generated: true, Through: w.newest}
	if failure != nil {
		d.ProseSummary = session.ProseSummary{Generated: true}
		why := e.shrinker.DescribeFailure(failure).Message
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = fmt.Sprintf("%s did not write a summary within %v", m.Ref, summaryTimeout)
		}
		failure = session.Errorf(session.CodeUnavailable, "%s", why)
		if used == nil {
			return nil, failure
		}
	}
	// Record it. The summary that is returned is the one that the session then has.
	var now *session.ProseSummary
	_, err := e.journal.Log.Append(context.WithoutCancel(ctx), w.session.ID, store.Relaxed,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			s, err := store.FindSession(tx, w.session.ID)
			if err != nil { // deleted meanwhile
				return nil, err
			}
			s.Apply(d)
			now = s.Summary
			return eventlog.NewDrafts(d), nil
		})
	return now, cmp.Or(failure, err)
}

// newWork is the work of a session since its last summary.
type newWork struct {
	session    *session.Session
	previous   string // the last summary, "" without one
	transcript []string
	newest     session.MessageID
}

func (w *newWork) size() (n int) {
	for _, text := range w.transcript {
		n += len(text)
	}
	return n
}

// readNewWork reads the newest messages since the last summary, without those that a staged revert hides.
func (e *Engine) readNewWork(ctx context.Context, id session.ID) (*newWork, error) {
	w := &newWork{}
	err := e.journal.Store.View(ctx, func(r store.Reader) (err error) {
		if w.session, err = store.FindSession(r, id); err != nil {
			return err
		}
		// Begin after what the last summary covers.
		q := store.MessageQuery{After: -1, Newest: true, Limit: summaryMessages}
		if last := w.session.Summary; last != nil {
			m, ok, err := store.FindMessage(r, id, last.Through)
			if err != nil {
				return err
			}
			if ok {
				w.previous, q.After = last.Text, m.Meta().Seq
			}
		}
		// End before what a staged revert hides.
		if rv := w.session.Revert; rv != nil && !rv.FilesOnly {
			m, ok, err := store.FindMessage(r, id, rv.MessageID)
			if err != nil {
				return err
			}
			if ok {
				q.Before = m.Meta().Seq
			}
		}
		// Read the newest of these messages, and put them into order.
		ms, err := store.ReadMessages(r, id, q)
		if err != nil || len(ms) == 0 {
			return err
		}
		w.newest = ms[0].Meta().ID
		slices.Reverse(ms)
		w.addMessages(ms)
		return nil
	})
	return w, err
}

// addMessages adds the messages, oldest first. A compaction says what came before them if no summary does.
func (w *newWork) addMessages(ms []session.Message) {
	for _, m := range ms {
		if c, ok := m.(*session.Compaction); ok && w.previous == "" {
			w.previous = c.Summary
		}
	}
	w.transcript = compaction.WriteTranscript(ms)
}
