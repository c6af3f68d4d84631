package describe

import (
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// DescribeCompaction says what a compaction achieved, what it cost and, beyond a second, how long it took.
func DescribeCompaction(e *session.CompactionEnded) string {
	text := "the history was summarised"
	if e.Before > 0 {
		text += fmt.Sprintf(": %s -> %s tokens", terminal.FormatCount(e.Before), terminal.FormatCount(e.After))
	}
	if e.Request != nil {
		text += ", cost " + FormatCost(e.Request.Cost, e.Request.Tokens)
	}
	if took := time.Duration(e.Timestamp-e.Started) * time.Millisecond; e.Started > 0 && took >= time.Second {
		text += fmt.Sprintf(" (%s)", took.Round(100*time.Millisecond))
	}
	return text
}

// DescribeCompactionFailure says why the history was not summarised.
func DescribeCompactionFailure(e *session.CompactionFailed) string {
	switch e.Error.Reason {
	case session.ReasonAborted:
		return "the history was not summarised: the summary was interrupted"
	case session.ReasonSummary: // its message says that the history was not summarised
		return terminal.FirstLine(e.Error.Message, 300)
	}
	return "the history was not summarised: " + terminal.FirstLine(e.Error.Message, 300)
}

// CompactionUndone is the line about a compaction that was undone.
const CompactionUndone = "the summary was undone: the model reads what it replaced again"
