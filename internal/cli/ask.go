package cli

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// askQueue puts asks to the person at the terminal, one after the other, and reads typed lines as their answers.
type askQueue struct {
	out   *stream
	marks marks

	pending []session.PendingAsk // the first one is on the screen
	given   [][]string           // answers to the questions of the first one, so far
	shown   func()               // called before an ask is shown; may be nil
	wanted  func()               // called when a line is wanted, after its prompt is shown; may be nil
}

// questioner is an askQueue on a terminal of its own, which is read only while an ask is on the screen.
type questioner struct {
	askQueue
	tty io.ReadWriteCloser

	lines   chan string   // typed lines; capacity 1, because one read is outstanding; closed when the terminal is gone
	next    chan struct{} // requests a line; capacity 1: at most one read is outstanding
	reading bool
}

// answer is a reply that is still to be delivered.
type answer struct {
	ask     session.PendingAsk
	reply   session.Reply
	message string
	answers [][]string // if it is a question
}

func newQuestioner(a *app, tty io.ReadWriteCloser) *questioner {
	q := &questioner{tty: tty, lines: make(chan string, 1), next: make(chan struct{}, 1)}
	q.out, q.marks = &stream{w: tty, terminal: true, color: a.err.color}, a.marks
	q.shown, q.wanted = q.discardTyped, q.requestLine
	go q.read() // ends with close, or with the process while the terminal is read
	return q
}

// discardTyped drops what was typed before the ask is shown, unless a read is under way already.
func (q *questioner) discardTyped() {
	if f, ok := q.tty.(interface{ Fd() uintptr }); ok && !q.reading {
		forgetTyped(int(f.Fd()))
	}
}

func (q *questioner) requestLine() {
	if !q.reading {
		q.reading = true
		q.next <- struct{}{}
	}
}

// answerLine reads a line from the terminal as the answer to the ask on the screen; ok is false when it answers nothing.
func (q *questioner) answerLine(text string) (ans answer, ok bool) {
	q.reading = false
	return q.answer(text)
}

func (q *questioner) read() {
	defer close(q.lines)
	in := bufio.NewReader(io.LimitReader(q.tty, 1<<20))
	for range q.next {
		_, _ = in.Discard(in.Buffered()) // typed before this question
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		q.lines <- text
	}
}

// close gives the terminal back. It may be called on nil. Closing would wait for a read that is under way, which
// nothing but the user can end: that one is left to the end of the process.
func (q *questioner) close() {
	if q == nil {
		return
	}
	close(q.next)
	if !q.reading {
		_ = q.tty.Close() // nothing is kept there
	}
}

// add puts the ask to the person, now or when those before it are answered.
func (q *askQueue) add(a session.PendingAsk) {
	if slices.ContainsFunc(q.pending, func(b session.PendingAsk) bool { return b.ID == a.ID }) {
		return
	}
	q.pending = append(q.pending, a)
	if len(q.pending) == 1 {
		q.show()
	}
}

// remove takes an ask off the screen that was answered elsewhere, or by the end of the work.
func (q *askQueue) remove(id session.AskID, by string) {
	for i, a := range q.pending {
		if a.ID != id {
			continue
		}
		q.pending = append(q.pending[:i], q.pending[i+1:]...)
		if i == 0 {
			q.given = nil
			q.out.freshLine()
			if by != "interrupt" {
				q.out.printf("  answered elsewhere\n")
			}
			q.show()
		}
		return
	}
}

// answer reads a line as the answer to the ask on the screen; ok is false when it answers nothing.
func (q *askQueue) answer(text string) (ans answer, ok bool) {
	q.out.midline = false
	if len(q.pending) == 0 {
		return answer{}, false
	}
	a := q.pending[0]
	if a.IsQuestion() {
		return q.answerQuestion(a, text)
	}
	reply, message, ok := parseAnswer(text, len(a.Save) > 0)
	if !ok {
		q.out.printf("  %s\n", choices(a))
		q.prompt()
		return answer{}, false
	}
	q.pending = q.pending[1:]
	q.show()
	return answer{ask: a, reply: reply, message: message}, true
}

// parseAnswer understands y, a, n, their words, and "n" with a reason, which the model is told.
func parseAnswer(text string, mayAlways bool) (reply session.Reply, message string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "y", "yes", "once":
		return session.ReplyOnce, "", rest == ""
	case "a", "always":
		return session.ReplyAlways, "", mayAlways && rest == ""
	case "n", "no", "reject":
		return session.ReplyReject, rest, true
	default:
		return "", "", false
	}
}

// show puts the first ask on the screen, or its next question.
func (q *askQueue) show() {
	if len(q.pending) == 0 {
		return
	}
	if q.shown != nil {
		q.shown()
	}
	a := q.pending[0]
	q.out.freshLine()
	if a.IsQuestion() {
		showQuestion(q.out, q.marks, a.Questions[len(q.given)])
	} else {
		showAsk(q.out, q.marks, a)
		q.out.printf("  %s\n", choices(a))
	}
	q.prompt()
}

// showAsk writes what a permission is wanted for, with the diff of an edit.
func showAsk(out *stream, m marks, a session.PendingAsk) {
	out.printf("%s %s\n", out.paint(yellow, m.ask), out.paint(bold, askTitle(a)))
	for _, l := range details(a) {
		style := ""
		switch {
		case strings.HasPrefix(l, "+"):
			style = green
		case strings.HasPrefix(l, "-"):
			style = red
		}
		if style != "" {
			l = out.paint(style, l)
		}
		out.printf("  %s\n", l)
	}
}

func (q *askQueue) prompt() {
	q.out.printf("  > ")
	if q.wanted != nil {
		q.wanted()
	}
}

// askTitle says what is asked for: the action and on what, each resource on its own line if there are several. The
// text is shown whole, because it is what one agrees to.
func askTitle(a session.PendingAsk) string {
	what := make([]string, len(a.Resources))
	for i, r := range a.Resources {
		what[i] = strings.ReplaceAll(harmless(r), "\n", "\n    ")
	}
	title := harmless(a.Action)
	if a.Agent != "" {
		title = harmless(a.Agent) + " wants to " + title
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

// details are the lines below what is asked for: the command that it stands in, and its preview.
func details(a session.PendingAsk) []string {
	var m struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(a.Metadata, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) // else there is none to show
	lines := preview(a.Metadata)
	if m.Command == "" || len(a.Resources) == 1 && a.Resources[0] == m.Command {
		return lines
	}
	return append(strings.Split("in: "+strings.ReplaceAll(harmless(m.Command), "\n", "\n    "), "\n"), lines...)
}

func choices(a session.PendingAsk) string {
	s := "y: once"
	if len(a.Save) > 0 {
		s += ", a: always for " + harmless(a.Action+" "+strings.Join(a.Save, ", "))
	}
	return s + ", n: no, and stop, n REASON: no, and go on"
}

// previewLines bounds what is shown of a diff.
const previewLines = 60

// preview is the diff that an ask carries, else its other details, as harmless lines.
func preview(metadata jsontext.Value) []string {
	var m map[string]jsontext.Value
	if len(metadata) == 0 || json.Unmarshal(metadata, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	var text string
	if json.Unmarshal(m["diff"], &text) != nil {
		if m["limit"] == nil || m["spent"] == nil {
			return nil
		}
		text = "spent " + string(m["spent"]) + " of " + string(m["limit"]) + "; yes allows as much again"
	}
	lines := strings.Split(strings.TrimRight(harmless(text), "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Index: ") || strings.HasPrefix(l, "=====") })
	if len(lines) > previewLines {
		more := len(lines) - previewLines
		lines = append(lines[:previewLines], "… and "+thousands(int64(more))+" lines more")
	}
	return lines
}
