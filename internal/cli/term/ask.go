package term

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// AskQueue puts asks to the person at the terminal, one after the other, and reads typed lines as their answers.
type AskQueue struct {
	Out   *Stream
	Marks Marks

	Pending     []session.PendingAsk // the first one is on the screen
	given       [][]string           // answers to the questions of the first one, so far
	settling    bool                 // the last answer may settle others: ShowNext shows the next ask
	approved    CommandApprovals
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

// Answer is a reply that is still to be delivered.
type Answer struct {
	Ask      session.PendingAsk
	Reply    session.Reply
	Message  string
	Lifetime session.Lifetime // if the reply is always
	Patterns []string         // likewise: saved instead of those that the ask offers
	Answers  [][]string       // if it is a question
}

// NewTerminalAsks returns an empty queue on the terminal, which it closes at the end.
func NewTerminalAsks(tty io.ReadWriteCloser, marks Marks, color bool) *TerminalAsks {
	q := &TerminalAsks{tty: tty, Lines: make(chan string, 1), next: make(chan struct{}, 1)}
	q.Out, q.Marks = NewTerminalStream(tty, color), marks
	q.BeforeShow, q.AfterPrompt = q.discardTyped, q.requestLine
	go q.readLines() // ends with close, or with the process while the terminal is read
	return q
}

// discardTyped drops what was typed before the ask is shown, unless a read is under way already.
func (q *TerminalAsks) discardTyped() {
	if f, ok := q.tty.(interface{ Fd() uintptr }); ok && !q.reading {
		discardInput(int(f.Fd()))
	}
}

func (q *TerminalAsks) requestLine() {
	if !q.reading {
		q.reading = true
		q.next <- struct{}{}
	}
}

// AnswerLine reads a line from the terminal as the answer to the ask on the screen; ok is false when it answers
// nothing.
func (q *TerminalAsks) AnswerLine(text string) (ans Answer, ok bool) {
	q.reading = false
	return q.Answer(text)
}

func (q *TerminalAsks) readLines() {
	defer close(q.Lines)
	in := bufio.NewReader(io.LimitReader(q.tty, 1<<20))
	for range q.next {
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
	q.Pending, q.given, q.settling, q.approved = nil, nil, false, CommandApprovals{}
}

// callCommand is a whole command line of a call.
type callCommand struct {
	part session.PartID
	line string
}

// commandOf returns the command that the ask's call would run; ok is false if the ask names none.
func commandOf(a session.PendingAsk) (c callCommand, ok bool) {
	var m struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(a.Metadata, &m, jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true)) // other metadata has no command
	if a.Source == nil || m.Command == "" {
		return callCommand{line: m.Command}, false
	}
	return callCommand{a.Source.PartID, m.Command}, true
}

// IsBeforeCommand reports whether the ask is for a file of a command, which is shown whole and asked for next.
func IsBeforeCommand(a session.PendingAsk) bool {
	_, ok := commandOf(a)
	return ok && a.Action != permission.Shell
}

// CommandApprovals holds the commands that were approved with a file of theirs.
type CommandApprovals struct{ commands map[callCommand]bool }

// NoteAnswer notes the answer to an ask for a file of a command.
func (p *CommandApprovals) NoteAnswer(a session.PendingAsk, r session.Reply) {
	if r == session.ReplyReject || !IsBeforeCommand(a) {
		return
	}
	if p.commands == nil {
		p.commands = map[callCommand]bool{}
	}
	c, _ := commandOf(a)
	p.commands[c] = true
}

// AnswerApproved answers the ask for a command that the person approved together with a file of its: the same command
// of the same call. An ask that only a person may allow is put to the person.
func (p *CommandApprovals) AnswerApproved(a session.PendingAsk) (Answer, bool) {
	c, ok := commandOf(a)
	ok = ok && a.Action == permission.Shell && !a.Firm && p.commands[c]
	return Answer{Ask: a, Reply: session.ReplyOnce}, ok
}

// AnswerApproved answers an ask as CommandApprovals does.
func (q *AskQueue) AnswerApproved(a session.PendingAsk) (Answer, bool) {
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
func (q *AskQueue) Answer(text string) (ans Answer, ok bool) {
	q.Out.Midline = false
	if len(q.Pending) == 0 {
		return Answer{}, false
	}
	a := q.Pending[0]
	if a.IsQuestion() {
		return q.answerQuestion(a, text)
	}
	ans, ok = parseAnswer(text)
	if !ok || ans.Reply == session.ReplyAlways && len(a.Save) == 0 {
		q.Out.Printf("  %s\n", replyChoices(a))
		q.prompt()
		return Answer{}, false
	}
	q.approved.NoteAnswer(a, ans.Reply)
	q.takeAnswered(ans.Reply)
	ans.Ask = a
	return ans, true
}

// parseAnswer parses y, s, a, n and their words; "n" may be followed by a reason for the model.
func parseAnswer(text string) (ans Answer, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "y", "yes", "once":
		return Answer{Reply: session.ReplyOnce}, rest == ""
	case "s", "session":
		return Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeSession}, rest == ""
	case "a", "always":
		return Answer{Reply: session.ReplyAlways, Lifetime: session.LifetimeProject}, rest == ""
	case "n", "no", "reject":
		return Answer{Reply: session.ReplyReject, Message: rest}, true
	default:
		return Answer{}, false
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
		q.Out.Printf("  %s\n", replyChoices(a))
	}
	q.prompt()
}

// showAsk writes what a permission is wanted for, with the diff of an edit.
func showAsk(out *Stream, m Marks, a session.PendingAsk) {
	out.Printf("%s %s\n", out.PaintText(Yellow, m.Ask), out.PaintText(Bold, AskTitle(a)))
	for _, l := range AskDetails(a) {
		style := ""
		switch {
		case strings.HasPrefix(l, "+"):
			style = Green
		case strings.HasPrefix(l, "-"):
			style = Red
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

// AskTitle says what is asked for: the action and on what, each resource on its own line if there are several. The
// text is shown whole, because it is what one agrees to.
func AskTitle(a session.PendingAsk) string {
	what := make([]string, len(a.Resources))
	for i, r := range a.Resources {
		what[i] = strings.ReplaceAll(ReplaceControls(r), "\n", "\n    ")
	}
	title := ReplaceControls(a.Action)
	if a.Agent != "" {
		title = ReplaceControls(a.Agent) + " asks for " + title
	}
	switch len(what) {
	case 0:
		return title
	case 1:
		return title + ": " + what[0]
	default:
		return title + ":\n    " + strings.Join(what, "\n    ")
	}
}

// AskDetails are the lines below what is asked for: the command that it stands in, and its preview.
func AskDetails(a session.PendingAsk) []string {
	return append(AskCommand(a), askPreview(a.Metadata)...)
}

// AskCommand are the lines of the command that what is asked for stands in, nil if it is the command itself.
func AskCommand(a session.PendingAsk) []string {
	m, _ := commandOf(a)
	if m.line == "" || len(a.Resources) == 1 && a.Resources[0] == m.line {
		return nil
	}
	return strings.Split("in: "+strings.ReplaceAll(ReplaceControls(m.line), "\n", "\n    "), "\n")
}

func replyChoices(a session.PendingAsk) string {
	s := "y: once"
	if IsBeforeCommand(a) {
		s += " for this, with the command"
	}
	if len(a.Save) > 0 {
		s += ", s: " + DescribeLifetime(session.LifetimeSession) + ", a: " + DescribeLifetime(session.LifetimeProject) +
			"; s and a are for " + ReplaceControls(DescribeSaved(a, a.Save))
	}
	return s + ", n: reject and stop, n REASON: reject and continue"
}

// DescribeSaved says what an approval of the patterns covers, and for commands how, and how it is taken back.
func DescribeSaved(a session.PendingAsk, patterns []string) string {
	text := a.Action + " " + strings.Join(patterns, ", ")
	if a.Action == permission.Shell {
		text += " (plain commands, in the sandbox; cairn permission revoke takes it back)"
	}
	return text
}

// DescribeLifetime says how long an approval holds.
func DescribeLifetime(l session.Lifetime) string {
	switch l {
	case session.LifetimeSession:
		return "always in this session"
	case session.LifetimeProcess:
		return "always until cairn restarts"
	default:
		return "always in this project until revoked"
	}
}

// maxPreviewLines bounds what is shown of a diff.
const maxPreviewLines = 60

// AskDiff returns the patch of the change that is asked for, without control characters; "" without one.
func AskDiff(a session.PendingAsk) string { return ReplaceControls(readAskDetails(a.Metadata).diff) }

// askDetails are the details that an ask carries.
type askDetails struct {
	diff         string
	limit, spent jsontext.Value // nil unless a budget asks
}

func readAskDetails(metadata jsontext.Value) (d askDetails) {
	var m map[string]jsontext.Value
	if len(metadata) == 0 ||
		json.Unmarshal(metadata, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return askDetails{}
	}
	d.limit, d.spent = m["limit"], m["spent"]
	if json.Unmarshal(m["diff"], &d.diff) != nil {
		d.diff = ""
	}
	return d
}

// askPreview is the diff that an ask carries, else its other details, as harmless lines.
func askPreview(metadata jsontext.Value) []string {
	d := readAskDetails(metadata)
	text := d.diff
	if text == "" {
		if d.limit == nil || d.spent == nil {
			return nil
		}
		text = "spent " + string(d.spent) + " of " + string(d.limit) + "; yes allows as much again"
	}
	lines := strings.Split(strings.TrimRight(ReplaceControls(text), "\n"), "\n")
	lines = slices.DeleteFunc(
		lines,
		func(l string) bool { return strings.HasPrefix(l, "Index: ") || strings.HasPrefix(l, "=====") },
	)
	if len(lines) > maxPreviewLines {
		more := len(lines) - maxPreviewLines
		lines = append(lines[:maxPreviewLines], "… and "+FormatCount(int64(more))+" lines more")
	}
	return lines
}

func AskSummary(a session.PendingAsk) string {
	if a.IsQuestion() {
		return FirstLine(a.Questions[0].Question, 200)
	}
	return FirstLine(a.Action+" "+strings.Join(a.Resources, ", "), 200)
}

// DescribePending says what waits, and how to answer it.
func DescribePending(a session.PendingAsk) string {
	if a.IsQuestion() {
		return fmt.Sprintf("an answer: %s; answer with: cairn question answer %s ANSWER", AskSummary(a), a.ID)
	}
	return fmt.Sprintf(
		"a permission: %s; answer with: cairn permission reply %s once|always|reject",
		AskSummary(a),
		a.ID,
	)
}

// DenialAnswer is the answer without a person: a permission is rejected, a question stays unanswered; the model
// continues.
func DenialAnswer(a session.PendingAsk, message string) Answer {
	if a.IsQuestion() {
		return Answer{Ask: a, Reply: session.ReplyOnce, Answers: make([][]string, len(a.Questions))}
	}
	return Answer{Ask: a, Reply: session.ReplyReject, Message: message}
}
