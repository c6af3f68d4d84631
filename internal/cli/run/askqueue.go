package run

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// AskQueue puts asks to the person at the terminal, one after the other, and reads typed lines as their answers.
type AskQueue struct {
	Out   *terminal.Stream
	Marks terminal.Marks

	Pending     []session.PendingAsk // the first one is on the screen
	given       [][]string           // answers to the questions of the first one, so far
	settling    bool                 // the last answer may settle others: ShowNext shows the next ask
	approved    follow.CommandApprovals
	BeforeShow  func() // called before an ask is shown; may be nil
	AfterPrompt func() // called when a line is wanted, after its prompt is shown; may be nil
}

// TerminalAsks is an AskQueue on a terminal of its own, which is read only while an ask is on the screen.
type TerminalAsks struct {
	AskQueue
	tty io.ReadWriteCloser

	Lines   chan string   // typed lines; capacity 1, because one read is outstanding; closed when the terminal is gone
	next    chan struct{} // requests a line; capacity 1: at most one read is outstanding
	reading bool
}

// NewTerminalAsks returns an empty queue on the terminal, which it closes at the end.
func NewTerminalAsks(tty io.ReadWriteCloser, marks terminal.Marks, color bool) *TerminalAsks {
	q := &TerminalAsks{tty: tty, Lines: make(chan string, 1), next: make(chan struct{}, 1)}
	q.Out, q.Marks = terminal.NewTerminalStream(tty, color), marks
	q.BeforeShow, q.AfterPrompt = q.discardTyped, q.requestLine
	go q.readLines() // ends with close, or with the process while the terminal is read
	return q
}

// discardTyped drops what was typed before the ask is shown, unless a read is under way already, and says how many
// lines that were.
func (q *TerminalAsks) discardTyped() {
	f, ok := q.tty.(interface{ Fd() uintptr })
	if !ok || q.reading {
		return
	}
	if n := terminal.DiscardInput(int(f.Fd())); n > 0 {
		q.Out.EndLine()
		q.Out.Printf("! %s not sent: typed before this request was shown\n", terminal.FormatPlural(n, "line"))
	}
}

// requestLine has the next line of the terminal sent to Lines, unless one is on its way.
func (q *TerminalAsks) requestLine() {
	if !q.reading {
		q.reading = true
		q.next <- struct{}{}
	}
}

// AnswerLine reads a line from the terminal as the answer to the ask on the screen; ok is false when it answers
// nothing.
func (q *TerminalAsks) AnswerLine(text string) (ans follow.Answer, ok bool) {
	q.reading = false
	return q.Answer(text)
}

// maxLine bounds a typed line, in bytes. A terminal's own limit is lower.
const maxLine = 1 << 20

func (q *TerminalAsks) readLines() {
	defer close(q.Lines)
	limited := &io.LimitedReader{R: q.tty}
	in := bufio.NewReader(limited)
	for range q.next {
		limited.N = maxLine
		_, _ = in.Discard(in.Buffered()) // typed before this question
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		q.Lines <- text
	}
}

// Close gives the terminal back. It may be called on nil. Closing would wait for a read that is under way, which
// nothing but the user can end: that one is left to the end of the process.
func (q *TerminalAsks) Close() {
	if q == nil {
		return
	}
	close(q.next)
	if !q.reading {
		_ = q.tty.Close() // nothing is kept there
	}
}

// Add puts the ask to the person, now or when those before it are answered.
func (q *AskQueue) Add(a session.PendingAsk) {
	if slices.ContainsFunc(q.Pending, func(b session.PendingAsk) bool { return b.ID == a.ID }) {
		return
	}
	q.Pending = append(q.Pending, a)
	if len(q.Pending) == 1 && !q.settling {
		q.show()
	}
}

// Clear forgets all asks.
func (q *AskQueue) Clear() {
	q.Pending, q.given, q.settling, q.approved = nil, nil, false, follow.CommandApprovals{}
}

// AnswerApproved answers an ask as CommandApprovals does.
func (q *AskQueue) AnswerApproved(a session.PendingAsk) (follow.Answer, bool) {
	return q.approved.AnswerApproved(a)
}

// takeAnswered takes the ask on the screen out of the queue and shows the next one. After always and reject, which may
// settle others, ShowNext does that.
func (q *AskQueue) takeAnswered(r session.Reply) {
	q.Pending, q.given = q.Pending[1:], nil
	if q.settling = r != session.ReplyOnce; !q.settling {
		q.show()
	}
}

// ShowNext shows the next ask once the answer to the last one was sent, without those that it settled too. It may be
// called after any answer.
func (q *AskQueue) ShowNext(isSettled func(session.PendingAsk) bool) {
	if q.settling {
		q.settling, q.Pending = false, slices.DeleteFunc(q.Pending, isSettled)
		q.show()
	}
}

// Remove takes an ask off the screen that was answered elsewhere, or by the end of the work.
func (q *AskQueue) Remove(id session.AskID, by string) {
	for i, a := range q.Pending {
		if a.ID != id {
			continue
		}
		q.Pending = append(q.Pending[:i], q.Pending[i+1:]...)
		if i == 0 && !q.settling {
			q.given = nil
			q.Out.EndLine()
			if by != "interrupt" {
				q.Out.Printf("  answered elsewhere\n")
			}
			q.show()
		}
		return
	}
}

// Answer reads a line as the answer to the ask on the screen; ok is false when it answers nothing.
func (q *AskQueue) Answer(text string) (ans follow.Answer, ok bool) {
	q.Out.Midline = false
	if len(q.Pending) == 0 {
		return follow.Answer{}, false
	}
	a := q.Pending[0]
	if a.IsQuestion() {
		return q.answerQuestion(a, text)
	}
	ans, ok = parseAnswer(text)
	if !ok || ans.Reply == session.ReplyAlways && len(a.Save) == 0 {
		q.Out.Printf("  %s\n", describe.ReplyChoices(a))
		q.prompt()
		return follow.Answer{}, false
	}
	q.approved.NoteAnswer(a, ans.Reply)
	q.takeAnswered(ans.Reply)
	ans.Ask = a
	return ans, true
}

// parseAnswer parses y, s, a, n and their words; "n" may be followed by a reason for the model.
func parseAnswer(text string) (ans follow.Answer, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "y", "yes", "once":
		return follow.Answer{Reply: session.ReplyOnce}, rest == ""
	case "s", "session":
		return follow.Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeSession}, rest == ""
	case "a", "always":
		return follow.Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeProject}, rest == ""
	case "n", "no", "reject":
		return follow.Answer{Reply: session.ReplyReject, Message: rest}, true
	default:
		return follow.Answer{}, false
	}
}

// show puts the first ask on the screen, or its next question.
func (q *AskQueue) show() {
	if len(q.Pending) == 0 {
		return
	}
	if q.BeforeShow != nil {
		q.BeforeShow()
	}
	a := q.Pending[0]
	q.Out.EndLine()
	if a.IsQuestion() {
		showQuestion(q.Out, q.Marks, a.Questions[len(q.given)])
	} else {
		showAsk(q.Out, q.Marks, a)
		q.Out.Printf("  %s\n", describe.ReplyChoices(a))
	}
	q.prompt()
}

// showAsk writes what a permission is wanted for, with the diff of an edit.
func showAsk(out *terminal.Stream, m terminal.Marks, a session.PendingAsk) {
	out.Printf("%s %s\n", out.PaintText(terminal.Yellow, m.Ask), out.PaintText(terminal.Bold, describe.AskTitle(a)))
	for _, l := range describe.AskDetails(a) {
		style := ""
		switch {
		case strings.HasPrefix(l, "+"):
			style = terminal.Green
		case strings.HasPrefix(l, "-"):
			style = terminal.Red
		}
		if style != "" {
			l = out.PaintText(style, l)
		}
		out.Printf("  %s\n", l)
	}
}

func (q *AskQueue) prompt() {
	q.Out.Printf("  > ")
	if q.AfterPrompt != nil {
		q.AfterPrompt()
	}
}
