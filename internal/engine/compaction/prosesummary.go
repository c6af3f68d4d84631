package compaction

import (
	"context"
	"math"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	proseAttempts = 3       // failed requests for one summary in prose
	prosePiece    = 4 << 10 // bytes; of a longer transcript the first piece and the last ones are sent
)

// WriteProse returns a summary of a session in a few sentences, for people, from the beginning and the end of the
// transcript. Previous is the summary that it continues. Results and errors are as those of Write.
func (w *Writer) WriteProse(ctx context.Context, q SummaryRequest) (text string, used *session.RequestCost, err error) {
	limited := *w
	limited.Limits.Attempts = proseAttempts
	pieces := SplitTranscript(q.Transcript, prosePiece)
	k, question := limited.newTask(&q), ProseQuestion(q.Previous, strings.Join(pieces, "\n\n"))
	for unusable := 1; ; unusable++ {
		answer, err := limited.askModel(ctx, k, &q, question, nil)
		if err != nil {
			return "", k.used, err
		}
		answer.Text = strings.TrimSpace(history.RemoveThinking(answer.Text))
		why := CheckSummary(answer, math.MaxInt64, q.Model.TokensPerByte)
		if why == nil {
			return strings.ToValidUTF8(answer.Text[:min(len(answer.Text), session.MaxSummary)], ""), k.used, nil
		}
		if unusable == maxUnusable {
			return "", k.used, &UnusableError{why}
		}
	}
}
