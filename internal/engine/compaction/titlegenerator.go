package compaction

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// TitleGenerator generates titles, one per session at a time. Safe for concurrent use.
type TitleGenerator struct {
	BackgroundTasks
	journal *turnlog.Journal
	limits  turnlog.RetryLimits
}

// NewTitleGenerator returns a generator. Its attempts are bounded by limits, and by smaller ones of its own.
func NewTitleGenerator(j *turnlog.Journal, limits turnlog.RetryLimits) *TitleGenerator {
	return &TitleGenerator{journal: j, limits: limits}
}

// Start generates a title in the background, unless the session has such a task already.
func (g *TitleGenerator) Start(q TitleRequest) {
	g.Run(q.SessionID, func(ctx context.Context) { g.generateTitle(ctx, q) })
}

// generateTitle sets the title that the model suggests, or one from the prompt if the model fails, and records the
// usage. It does not replace a title that was set meanwhile, and asks no model if there is one already.
func (g *TitleGenerator) generateTitle(ctx context.Context, q TitleRequest) {
	if s, err := g.journal.ReadSession(ctx, q.SessionID); err == nil && !s.IsUntitled() {
		return
	}
	title, used := g.requestTitle(ctx, q)
	if errors.Is(context.Cause(ctx), turnlog.ErrCancelled) { // the session is deleted
		return
	}
	if title == "" {
		title = TitleFromText(q.Prompt.Text)
	}
	if err := g.recordTitle(context.WithoutCancel(ctx), q.SessionID, title, used); err != nil {
		g.journal.Logger.Warn("the title could not be stored", "session", q.SessionID, "error", err)
	}
}

func (g *TitleGenerator) recordTitle(
	ctx context.Context, id session.ID, title string, used *session.RequestCost,
) error {
	_, err := g.journal.Log.Append(ctx, id, store.Relaxed, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, id)
		if err != nil || used == nil && (title == "" || !s.IsUntitled()) {
			return nil, err
		}
		if title == "" {
			title = s.Title
		}
		return eventlog.NewDrafts(&session.Renamed{Title: title, By: "auto", Request: used}), nil
	})
	return err
}

// requestTitle asks the model for a title, with retries. title is "" if all attempts failed; used is nil if no usage is
// known.
func (g *TitleGenerator) requestTitle(ctx context.Context, q TitleRequest) (title string, used *session.RequestCost) {
	ctx, cancel := context.WithTimeout(ctx, TitleTimeout)
	defer cancel()
	// Titles have few attempts and little time: the prompt gives one as well.
	limits := g.limits
	limits.Attempts = TitleAttempts
	var retries turnlog.RetryState
	k := &modelTask{sessionID: q.SessionID, model: q.Model, system: q.System, logger: g.journal.Logger}
	for {
		answer, err := k.attempt(ctx, k.buildRequest(q.listMessages()...), MaxTitleAnswer, nil)
		if err == nil {
			return fromAnswer(answer.Text), k.used
		}
		failure := llm.AsError(ctx, err)
		wait, again := retries.Next(failure, limits, g.journal.Now())
		g.journal.Logger.Debug("generating a title failed",
			"session", q.SessionID, "model", q.Model.Ref, "again", again, "error", failure)
		// Without images and documents it is another request, which needs no wait.
		if reduced, ok := q.withoutMedia(failure); ok {
			q = reduced
			continue
		}
		if !again || sleep(ctx, wait) != nil {
			return "", k.used
		}
	}
}

// fromAnswer returns the first line with text of an answer, without blocks of thinking.
func fromAnswer(answer string) string {
	title := firstLine(history.RemoveThinking(answer))
	if len(title) > maxTitle {
		return string(title[:maxTitle-3]) + "..."
	}
	return string(title)
}
