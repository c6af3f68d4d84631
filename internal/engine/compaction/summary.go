package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Bounds of writing one summary.
const (
	maxText     = 256 << 10 // bytes of an answer that are read
	maxUnusable = 2         // answers to one question that are no summary
	maxHalvings = 4         // of the pieces, after the provider found one too large
	leastPiece  = 2000      // bytes of a piece that is halved; of a smaller request the rest is too large
	unknownRoom = 100_000   // tokens of a request to a model whose window is unknown
)

// Writer asks models for summaries. It is safe for concurrent use.
type Writer struct {
	Logger *slog.Logger
	Limits turnlog.RetryLimits // of the attempts to get one answer
	Now    func() time.Time
}

// SummaryRequest asks for the summary of a conversation.
type SummaryRequest struct {
	SessionID    session.ID
	Model        *scope.Model
	System       string   // of the agent that writes summaries
	Transcript   []string // of WriteTranscript
	HeadTokens   int64    // of what the summary replaces, as the conversation's model reads it
	Previous     string   // the summary that this one continues
	Record       *session.Record
	Instructions string
	// Publish receives the text of the first attempt at the last piece as it comes; nil is allowed.
	Publish func(delta string)
	// ReportWait is called with the number of attempts that failed before each wait for the next one, and the function
	// that it returns after the wait; nil is allowed.
	ReportWait func(attempts int, e *llm.Error, wait time.Duration) (end func())
}

// UnusableError means that the model's answers are no summary.
type UnusableError struct{ Why error }

func (e *UnusableError) Error() string {
	return fmt.Sprintf("the history could not be summarised: %v", e.Why)
}

// Unwrap returns why the last answer was refused.
func (e *UnusableError) Unwrap() error { return e.Why }

// Write returns the summary, and what all requests for it used; used is nil if that is unknown. An error is an
// *UnusableError, the *llm.Error of the last attempt, or the cause of ctx's end.
func (w *Writer) Write(ctx context.Context, q SummaryRequest) (text string, used *session.RequestCost, err error) {
	k, room := w.newTask(&q), q.pieceBytes()
	for halved := 0; ; halved++ {
		pieces := SplitTranscript(q.Transcript, room)
		text, err = w.writePieces(ctx, k, &q, pieces)
		longest := 0
		for _, piece := range pieces {
			longest = max(longest, len(piece))
		}
		failure, ok := errors.AsType[*llm.Error](err)
		if !ok || failure.Class != llm.Overflow || halved == maxHalvings || longest < leastPiece {
			return text, k.used, err
		}
		room = min(room, longest) / 2
	}
}

func (w *Writer) newTask(q *SummaryRequest) *modelTask {
	return &modelTask{sessionID: q.SessionID, model: q.Model, system: q.System, logger: w.Logger}
}

// ListQuestions returns the questions that the writer gets; all but the first one without the summary of those before.
func (q *SummaryRequest) ListQuestions() (out []SummaryQuestion) {
	for _, piece := range SplitTranscript(q.Transcript, q.pieceBytes()) {
		out = append(out, SummaryQuestion{
			Previous: q.Previous, Record: q.Record, Piece: piece, Instructions: q.Instructions,
		})
	}
	return out
}

// pieceBytes returns how much of the transcript one request may have.
func (q *SummaryRequest) pieceBytes() int {
	m := q.Model
	room := m.Window.RequestLimit(0)
	if room == 0 {
		room = unknownRoom
	}
	empty := SummaryQuestion{Previous: q.Previous, Record: q.Record, Instructions: q.Instructions}
	fixed := scope.RequestSize{Bytes: int64(len(q.System) + len(m.System) + len(empty.RenderPrompt()))}
	const least = 2000 // tokens: no summary can be written in a window that has fewer
	return int(float64(max(room-fixed.EstimateTokens(m.TokensPerByte), least)) / scope.ClampRatio(m.TokensPerByte) * 0.9)
}

// writePieces summarises piece by piece, each together with the summary of those before it.
func (w *Writer) writePieces(
	ctx context.Context, k *modelTask, q *SummaryRequest, pieces []string,
) (text string, err error) {
	text = q.Previous
	for i, piece := range pieces {
		question := SummaryQuestion{
			Previous: text, Record: q.Record, Piece: piece, Instructions: q.Instructions,
		}.RenderPrompt()
		// Only the last piece shows its text: those before are intermediate.
		publish := q.Publish
		if i < len(pieces)-1 {
			publish = nil
		}
		// Ask again if the answer is no summary; a second attempt is not published.
		for unusable := 1; ; unusable++ {
			answer, err := w.askModel(ctx, k, q, question, publish)
			if err != nil {
				return "", err
			}
			publish = nil
			why := CheckSummary(answer, q.HeadTokens, q.Model.TokensPerByte)
			if why == nil {
				why = CheckOutline(answer.Text)
			}
			if why == nil {
				text = strings.TrimSpace(strings.ToValidUTF8(answer.Text, "\uFFFD"))
				break
			}
			w.Logger.Warn("a summary was refused", "session", q.SessionID, "model", q.Model.Ref.String(), "error", why)
			if unusable == maxUnusable {
				return "", &UnusableError{why}
			}
		}
	}
	return text, nil
}

// askModel asks until the model answers, within the limits.
func (w *Writer) askModel(
	ctx context.Context, k *modelTask, q *SummaryRequest, question string, publish func(string),
) (Answer, error) {
	var retries turnlog.RetryState
	message := llm.Message{Role: llm.RoleUser, Parts: history.TextParts(question)}
	for {
		// Make one attempt. Its text is published once only: readers would see the beginning again.
		answer, err := k.attempt(ctx, k.buildRequest(message), maxText, publish)
		if err == nil {
			err = answer.checkEnd(ctx)
		}
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return answer, context.Cause(ctx)
		}
		// Decide whether another one may succeed, and wait for it.
		publish = nil
		failure := llm.AsError(ctx, err)
		if failure.Class == llm.Empty { // an answer that is no summary
			return answer, nil
		}
		wait, again := retries.Next(failure, w.Limits, w.Now())
		if !again {
			return answer, failure
		}
		if err := q.waitForRetry(ctx, retries.FailureCount(), failure, wait); err != nil {
			return answer, err
		}
	}
}

// waitForRetry reports the failed attempt and waits for the next one.
func (q *SummaryRequest) waitForRetry(ctx context.Context, attempts int, e *llm.Error, wait time.Duration) error {
	if q.ReportWait != nil {
		defer q.ReportWait(attempts, e, wait)()
	}
	return sleep(ctx, wait)
}
