// Package compaction makes the next request of a session fit, and has small models write what describes a session.
//
// Planning is pure: what is summarised, what stays as it is, what the model that writes the summary is asked, and
// whether its answer is of use.
//
//	Select           the visible messages -> head (summarised) and tail (kept)                    this file
//	WriteTranscript  the head as text; SplitTranscript: in pieces that fit the writer's window    transcript.go
//	NewRecord        the facts that no summary may lose                                           record.go
//	SummaryQuestion  what the writer is asked; CheckSummary: whether its answer is a summary      summaryprompt.go
//	ListPrunable     old outputs of tools that the model can read again                           prune.go
//	FitRequest       the next request with what it is compared with                               fitrequest.go
//
// A Writer asks the model for the summary, piece by piece where the conversation does not fit its window (summary.go,
// prosesummary.go). A Shrinker hides old outputs or replaces the past by a summary, and records either in the log
// (shrink.go, prune.go). Titles are written beside the work, as are summaries in prose (title.go, titlegenerator.go,
// background.go). Summaries and titles are texts of a modelTask: one attempt, its bounds and its price (modeltask.go).
package compaction

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// Choice divides the visible messages into those that are summarised and those that stay.
type Choice struct {
	Previous *session.Compaction // the newest one, nil if this is the first
	Head     []session.Message   // summarised
	Tail     []session.Message   // kept as they are
	Prompt   *session.User       // a prompt of the head that is kept, too; nil if none is

	Changed []session.FileRecord // the files that commands and subagents of the head changed
}

// IsEmpty reports whether there is nothing to summarise.
func (c *Choice) IsEmpty() bool { return len(c.Head) == 0 }

// DescribeKept returns what the compaction stores of the choice. turns is the number of turns since the newest prompt.
func (c *Choice) DescribeKept(turns int64) (k session.Kept) {
	if len(c.Tail) > 0 {
		k.Seq, k.MessageID = c.Tail[0].Meta().Seq, c.Tail[0].Meta().ID
	}
	if c.Prompt != nil {
		k.PromptID = c.Prompt.ID
		k.Turns = turns - int64(countTurns(c.Tail))
	}
	return k
}

// EndsInTurn reports whether the model has answered everything that stays visible.
func (c *Choice) EndsInTurn() bool {
	for _, m := range slices.Backward(c.Tail) {
		switch m.Meta().Type {
		case session.TypeAssistant:
			return true
		case session.TypeUser, session.TypeSynthetic:
			return false
		}
	}
	return len(c.Head) > 0 && c.Head[len(c.Head)-1].Meta().Type == session.TypeAssistant
}

func countTurns(ms []session.Message) (n int) {
	for _, m := range ms {
		if m.Meta().Type == session.TypeAssistant {
			n++
		}
	}
	return n
}

// Limits bounds what is kept.
type Limits struct {
	Tokens int64 // of the tail
	Turns  int64 // prompts in the tail; negative is unlimited
	// Size returns the estimated tokens of a message as the model reads it.
	Size func(session.Message) int64
}

// Select chooses from the messages that the model sees, oldest first, a compaction before them. working reports that
// the newest prompt is still being worked on: it is kept then, and with it every prompt that no turn has answered.
//
// The tail has the newest turns (a prompt and all that follows it) that fit the limits together, and of the turn before
// them the newest messages that fit, without its prompt. If everything fits, nothing is kept: then the size of the
// request does not come from its messages, or the user asked for a summary.
func Select(visible []session.Message, working bool, lim Limits) *Choice {
	// Separate the newest summary from the messages after it.
	c := &Choice{}
	ms := make([]session.Message, 0, len(visible))
	for _, m := range visible {
		if previous, ok := m.(*session.Compaction); ok {
			c.Previous = previous
		} else {
			ms = append(ms, m)
		}
	}
	// Find where the tail begins.
	start := lim.tailStart(ms)
	if start == 0 {
		start = len(ms)
	}
	if working {
		start = min(start, unansweredStart(ms))
	}
	c.Head, c.Tail = ms[:start], ms[start:]
	if working {
		c.Prompt = newestPrompt(c.Head, c.Tail)
	}
	return c
}

// tailStart returns the index of the first message that fits the limits.
func (lim Limits) tailStart(ms []session.Message) int {
	start, left, turns := len(ms), lim.Tokens, lim.Turns
	for end := len(ms); end > 0 && turns != 0; turns-- {
		first := turnStart(ms, end)
		size := int64(0)
		for _, m := range ms[first:end] {
			size += lim.Size(m)
		}
		if size > left {
			return lim.splitTurn(ms[first:end], first, left)
		}
		left -= size
		start, end = first, first
	}
	return start
}

// splitTurn returns the index of the first message of the turn that still fits; the turn's prompt does not count.
func (lim Limits) splitTurn(turn []session.Message, first int, left int64) int {
	start := len(turn)
	for start > 1 {
		size := lim.Size(turn[start-1])
		if size > left {
			break
		}
		left -= size
		start--
	}
	return first + start
}

// turnStart returns the index of the prompt that begins the last turn of ms[:end], 0 if there is no prompt.
func turnStart(ms []session.Message, end int) int {
	for i := end - 1; i > 0; i-- {
		if ms[i].Meta().Type == session.TypeUser {
			return i
		}
	}
	return 0
}

// unansweredStart returns the index after the newest turn: the prompts from there on have no answer yet.
func unansweredStart(ms []session.Message) int {
	for i := len(ms); i > 0; i-- {
		if ms[i-1].Meta().Type == session.TypeAssistant {
			return i
		}
	}
	return 0
}

// newestPrompt returns the newest prompt if it is in the head and none is in the tail.
func newestPrompt(head, tail []session.Message) *session.User {
	if slices.ContainsFunc(tail, func(m session.Message) bool { return m.Meta().Type == session.TypeUser }) {
		return nil
	}
	for _, m := range slices.Backward(head) {
		if u, ok := m.(*session.User); ok {
			return u
		}
	}
	return nil
}
