package compaction

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// outline is the form of every summary. The facts that cairn records itself go under the same headings, so that a
// writer who copies them loses nothing.
const outline = `Write under exactly these headings, in this order; keep a heading without entries, with "- none":

## Goal
## Constraints of the user, in their words
## Decisions and their reasons
## Work done
## Files touched, with their hashes
## Questions that wait for an answer
## Todo list
## Next step`

// SummaryQuestion is the prompt for the writer of a summary.
type SummaryQuestion struct {
	Previous     string // the summary that this one continues, "" for the first
	Record       *session.Record
	Piece        string // of the transcript
	Instructions string // from the user
}

// RenderPrompt returns the text of the question: the task, the instructions of the user, and the quoted parts, each
// enclosed so that the writer reads it as data.
func (q SummaryQuestion) RenderPrompt() string {
	var b strings.Builder
	if q.Previous == "" {
		b.WriteString("Write notes of the conversation below.\n\n")
	} else {
		b.WriteString("Continue the earlier notes below with the conversation after them: one set of notes for both. " +
			"Carry over what still holds, also what the conversation does not mention again; where both disagree, " +
			"the conversation is right. What you leave out is lost.\n\n")
	}
	b.WriteString(outline)
	if q.Instructions != "" {
		b.WriteString("\n\nThe user asks for the notes: " + q.Instructions)
	}
	block := func(name, text string) {
		if text != "" {
			b.WriteString("\n\n" + history.EncloseText(name, text))
		}
	}
	block("earlier-notes", q.Previous)
	block("facts", history.RecordText(q.Record))
	block("conversation", q.Piece)
	b.WriteString("\n\nDo not continue the conversation and do not answer it. Reply with the notes only.")
	return b.String()
}

// ProseQuestion returns the question for the summary of a session in prose. The quoted parts are enclosed, so that the
// writer reads them as data.
func ProseQuestion(previous, transcript string) string {
	const task = "Write the summary of the conversation below"
	const end = "Do not continue the conversation and do not answer it. Reply with the summary only."
	conversation := history.EncloseText("conversation", transcript)
	if previous == "" {
		return task + ".\n\n" + conversation + "\n\n" + end
	}
	earlier := history.EncloseText("earlier-summary", previous)
	return task + " and of what came before it: one summary of both, no longer than before.\n\n" +
		earlier + "\n\n" + conversation + "\n\n" + end
}

// The reasons for which an answer is no summary.
var (
	errEmpty    = errors.New("the summary is empty")
	errToolCall = errors.New("the model called a tool instead of writing a summary")
	errRefused  = errors.New("the model refused to write a summary")
	errOutline  = errors.New("the model wrote none of the headings that a summary has")
	errCut      = errors.New("the summary reached the model's output limit before its end")
)

// CheckOutline returns an error if the text has no Markdown heading. The headings are not compared with the outline: a
// model may translate them, while a refusal in prose has none at all.
func CheckOutline(text string) error {
	for line := range strings.Lines(text) {
		if level := len(line) - len(strings.TrimLeft(line, "#")); level > 0 && strings.HasPrefix(line[level:], " ") {
			return nil
		}
	}
	return errOutline
}

// CheckSummary returns an error if the answer cannot replace a head of headTokens tokens.
func CheckSummary(a Answer, headTokens int64, tokensPerByte float64) error {
	text := strings.TrimSpace(a.Text)
	size := scope.RequestSize{Bytes: int64(len(text))}.EstimateTokens(tokensPerByte)
	const small = 100 // tokens: a summary of a few sentences is accepted whatever it replaces
	switch {
	case a.Finish == llm.FinishContentFilter:
		return errRefused
	case a.ToolCall:
		return errToolCall
	case text == "":
		return errEmpty
	case a.Finish == llm.FinishLength:
		return errCut
	case size > small && size >= headTokens:
		return fmt.Errorf("the summary has about %d tokens, and what it replaces %d", size, headTokens)
	default:
		return nil
	}
}
