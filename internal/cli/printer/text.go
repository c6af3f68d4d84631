package printer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Text shows a run to a person: the model's text on standard output as it arrives; calls and everything else, one line
// each, on standard error.
type Text struct {
	out, err   *terminal.Stream
	theme      style.Theme
	marks      terminal.Marks
	thinking   bool // show reasoning
	ErrorsOnly bool // the result is shown only if it is an error
	// IsAsking reports whether a dialog is on the screen: events are shown after it. May be nil.
	IsAsking func() bool
	Live     *Live // shows what runs; nil without a terminal

	shown   map[session.PartID]int // bytes of an item that are out; a fragment may come late
	started map[session.PartID]pendingCall
	dimmed  bool // reasoning is being written

	buffered bool   // text is written when its attempt succeeds: a file or program cannot tell attempts apart
	held     string // text of the current attempt that is not written yet, if buffered

	markdown *markdown.LiveText // renders the text on a terminal; nil between texts
	partial  string             // the last line of the text, which is not rendered yet

	deferred []session.Event // that came during a dialog
}

// pendingCall is a tool call that has not settled.
type pendingCall struct {
	tool, what string
	at         int64 // milliseconds
	input      jsontext.Value
}

func NewText(a *cli.Invocation, thinking bool) *Text {
	theme, _ := style.New("", a.Env) // the default exists
	return &Text{
		theme: theme, out: a.Out, err: a.Err, marks: a.Marks, thinking: thinking,
		shown: map[session.PartID]int{}, started: map[session.PartID]pendingCall{}, buffered: !a.Out.Terminal,
	}
}

// ShowFragment shows text as it arrives. What arrives during a dialog is shown with the event that ends the item.
func (t *Text) ShowFragment(f session.Fragment) {
	if t.Live != nil {
		t.Live.NoteFragment(f)
	}
	if t.isAsking() {
		return
	}
	t.showDeferred()
	switch f.Item {
	case session.FragmentText:
		t.showText(f.PartID, f.Offset, f.Delta)
	case session.FragmentReasoning:
		t.showReasoning(f.PartID, f.Offset, f.Delta)
	case session.FragmentToolInput:
	}
}

// unshownText returns the part of the item's text after offset that is not printed yet, counted in bytes, so that a
// resumed stream repeats and omits nothing.
func (t *Text) unshownText(part session.PartID, offset int, text string) string {
	skip := t.shown[part] - offset
	if skip >= len(text) {
		return ""
	}
	t.shown[part] = offset + len(text)
	return text[max(0, skip):]
}

func (t *Text) showText(part session.PartID, offset int, text string) {
	if text = t.unshownText(part, offset, text); text != "" {
		t.endReasoning()
		t.err.EndLine()
		t.held += text
		if !t.buffered {
			t.flush()
		}
	}
}

// flush writes the held text of the current attempt: as it is, or on a terminal its complete lines as Markdown.
func (t *Text) flush() {
	text := t.held
	t.held = ""
	switch {
	case text == "":
	case !t.isRich():
		t.out.WriteText(text)
	default:
		if t.markdown == nil {
			width, _ := t.Live.area.MeasureRoom()
			t.markdown = markdown.NewLiveText(t.theme, width)
		}
		text = t.partial + terminal.ReplaceControls(text)
		end := strings.LastIndexByte(text, '\n') + 1
		t.markdown.AddLines(text[:end])
		t.printLines(t.markdown.TakeLines())
		t.partial = text[end:]
		t.Live.NotePartial(t.partial)
	}
}

// isRich reports whether the terminal shows styles and the signs of Markdown and diffs, which need UTF-8.
func (t *Text) isRich() bool { return t.Live != nil && t.marks.Call != "->" }

func (t *Text) printLines(lines []string) {
	for _, l := range lines {
		t.out.Printf("%s\n", l)
	}
}

// endText ends a text and its last line.
func (t *Text) endText() {
	if t.held != "" && !strings.HasSuffix(t.held, "\n") {
		t.held += "\n"
	}
	if t.markdown != nil {
		t.printLines(t.markdown.TakeRest(t.partial))
		t.markdown, t.partial = nil, ""
		t.Live.NotePartial("")
	}
	t.out.EndLine()
}

// showReplaced ends a text of the model of which a part was shown and which extensions have changed, and says so. What they
// made of it follows as a whole.
func (t *Text) showReplaced(d *session.TextEnded) {
	if d.Replaced == nil || t.shown[d.PartID] == 0 {
		return
	}
	t.held = ""
	t.endText()
	t.ShowNote("changed by " + strings.Join(d.Replaced.By, ", ") + ":")
	delete(t.shown, d.PartID)
}

func (t *Text) showReasoning(part session.PartID, offset int, text string) {
	if text = t.unshownText(part, offset, text); text == "" || !t.thinking {
		return
	}
	t.out.EndLine()
	t.dimmed = true
	if t.err.Color {
		t.err.Printf("\x1b[%sm", terminal.Dim)
		t.err.WriteText(text)
		t.err.Printf("\x1b[0m")
		t.err.Midline = !strings.HasSuffix(text, "\n")
		return
	}
	t.err.WriteText(text)
}

func (t *Text) endReasoning() {
	if t.dimmed {
		t.err.EndLine()
		t.dimmed = false
	}
}

func (t *Text) isAsking() bool { return t.IsAsking != nil && t.IsAsking() }

// showDeferred shows what happened during a dialog.
func (t *Text) showDeferred() {
	events := t.deferred
	t.deferred = nil
	for _, e := range events {
		t.showEvent(e)
	}
}

// ShowEvent shows an event, during a dialog after it.
func (t *Text) ShowEvent(e session.Event) {
	if t.Live != nil {
		t.Live.NoteEvent("", e.Data)
	}
	if t.deferred = append(t.deferred, e); !t.isAsking() {
		t.showDeferred()
	}
}

// showEvent prints a durable event. Fragments have printed most of a text before; what is missing of it follows here.
func (t *Text) showEvent(e session.Event) {
	switch d := e.Data.(type) {
	case *session.StepStarted:
		if changed := d.Prefix.UnexpectedChange(); changed != "" {
			t.ShowNote(describe.CacheNote(changed))
		}
	// Texts and reasoning, whose end is a line end.
	case *session.TextEnded:
		t.showReplaced(d)
		t.showText(d.PartID, 0, d.Text)
		t.endText()
	case *session.StepEnded:
		t.flush()
	case *session.ReasoningEnded:
		t.showReasoning(d.PartID, 0, d.Text)
		t.endReasoning()
	// A call is printed when it begins, unless a live area shows it, and again with its result.
	case *session.ToolCalled:
		t.flush()
		what := describe.DescribeCall(d.Tool, d.Input)
		t.started[d.PartID] = pendingCall{d.Tool, what, d.Timestamp, d.Input}
		if t.Live == nil {
			t.ShowLine(terminal.Cyan, t.marks.Call, what)
		}
	case *session.ToolSuccess:
		t.showResult(d.PartID, t.measureCall(d.PartID, d.Timestamp, d.Waited), d.Structured)
	case *session.ToolFailed:
		t.showSettled(d.PartID, t.measureCall(d.PartID, d.Timestamp, d.Waited), cmp.Or(d.Error.Message, "failed"))
	// A retry starts the answer from the beginning, so what is held back of the failed one is dropped.
	case *session.Retried:
		t.held = ""
		t.endText()
		t.ShowNote(describe.DescribeRetry(d))
	case *session.PermissionReplied:
		if d.By == "cascade" {
			t.ShowNote("another request of this session was settled by the same answer: " + string(d.Reply))
		}
	default:
		if text := describe.DescribeEvent(d); text != "" {
			t.ShowNote(text)
		}
	}
}

// maxDiff bounds the lines of a diff that are shown.
const maxDiff = 20

// measureCall returns how long a call worked that was settled at a time, without its waits for answers.
func (t *Text) measureCall(part session.PartID, settled, waited int64) time.Duration {
	ran := session.ToolTime{Ran: t.started[part].at, Completed: settled, Waited: waited}
	return ran.Took(time.Time{})
}

// showResult shows the end of a call with a result, how long it took, and what it changed in files.
func (t *Text) showResult(part session.PartID, took time.Duration, structured jsontext.Value) {
	c, ok := t.started[part]
	if !ok {
		return
	}
	done := describe.DescribeOutcome(c.tool, c.input, structured)
	c.what += done.Counts
	t.started[part] = c
	t.showSettled(part, took, done.Failure)
	if diff := describe.ReadDiff(structured); diff != "" && t.isRich() {
		t.showDiff(diff)
	}
	for _, l := range done.Lines {
		t.err.Printf("%s\n", t.err.PaintText(terminal.Dim, "    "+l))
	}
}

func (t *Text) showDiff(diff string) {
	width, _ := t.Live.area.MeasureRoom()
	lines := diffview.Render(t.theme, diff, max(width-4, 10), false)
	if more := len(lines) - maxDiff; more > 1 {
		rest := t.err.PaintText(terminal.Dim, fmt.Sprintf("… %d more lines: cairn session diff", more))
		lines = append(lines[:maxDiff:maxDiff], rest)
	}
	for _, l := range lines {
		t.err.Printf("    %s\n", l)
	}
}

// showSettled shows the end of a call and how long it took. The call failed unless why is "".
func (t *Text) showSettled(part session.PartID, took time.Duration, why string) {
	c, ok := t.started[part]
	if !ok {
		return
	}
	delete(t.started, part)
	style, mark := terminal.Green, t.marks.Good
	if why != "" {
		style, mark = terminal.Red, t.marks.Bad
	}
	what := c.what
	if took >= time.Second {
		what += fmt.Sprintf(" (%s)", took.Round(100*time.Millisecond))
	}
	if why != "" {
		what += ": " + terminal.FirstLine(why, 300)
	}
	t.ShowLine(style, mark, what)
}

// ShowPrompt shows a prompt that was given elsewhere.
func (t *Text) ShowPrompt(text string) {
	t.ShowLine(terminal.Bold, ">", t.err.PaintText(terminal.Bold, terminal.FirstLine(text, 200)))
}

// ReplayMessage shows a stored message as its events were shown, and remembers how far: a message that is still being
// written goes on with the events to come.
func (t *Text) ReplayMessage(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		if describe.IsTaskReport(m) {
			t.ShowLine(terminal.Dim, t.marks.Dot, describe.PromptLine(m, 300))
			return
		}
		t.ShowPrompt(m.DisplayText())
	case *session.Assistant:
		for _, c := range m.Content {
			t.replayItem(c)
		}
		if m.Error != nil {
			t.ShowNote(m.Error.Message)
		}
	}
}

func (t *Text) replayItem(c session.Content) {
	switch c := c.(type) {
	case *session.Text:
		t.showText(c.PartID, 0, c.Text)
		if c.Time != nil && c.Time.Completed != 0 {
			t.endText()
		}
	case *session.Reasoning:
		t.showReasoning(c.PartID, 0, c.Text)
	case *session.Tool:
		t.replayCall(c)
	}
}

func (t *Text) replayCall(c *session.Tool) {
	if c.State.Status == session.ToolPending {
		return
	}
	what := describe.DescribeCall(c.Name, c.State.Input)
	t.started[c.PartID] = pendingCall{c.Name, what, c.Time.Ran, c.State.Input}
	switch c.State.Status {
	case session.ToolCompleted:
		t.showResult(c.PartID, c.Time.Took(time.Time{}), c.State.Structured)
	case session.ToolError:
		why := "failed"
		if c.State.Error != nil {
			why = cmp.Or(c.State.Error.Message, why)
		}
		t.showSettled(c.PartID, c.Time.Took(time.Time{}), why)
	default:
		t.ShowLine(terminal.Cyan, t.marks.Call, what)
	}
}

// ShowLine writes one line about what happens.
func (t *Text) ShowLine(style, mark, text string) {
	t.endReasoning()
	if t.markdown != nil {
		t.endText()
	}
	t.out.EndLine()
	t.err.EndLine()
	t.err.Printf("%s %s\n", t.err.PaintText(style, mark), text)
}

func (t *Text) ShowNote(text string) { t.ShowLine(terminal.Yellow, "!", terminal.FirstLine(text, 600)) }

// ShowWarning shows it as a note.
func (t *Text) ShowWarning(w Warning) { t.ShowNote(w.Message) }

// ShowResult prints the closing line: model, usage, cost, and how to continue.
func (t *Text) ShowResult(r Result) {
	// Finish what is still open on the screen.
	t.showDeferred()
	t.endReasoning()
	t.flush()
	t.endText()
	t.err.EndLine()
	if len(r.Value) > 0 && strings.TrimSpace(r.Text) != string(r.Value) { // else it is the last that was said
		t.out.Printf("%s\n", r.Value)
	}
	if r.Error != nil {
		t.err.Printf("%s %s\n", t.err.PaintText(terminal.Red, "cairn:"), r.Error.Message)
		if r.Error.Hint != "" {
			t.err.Printf("%s\n", r.Error.Hint)
		}
	}
	// Without a session there is nothing to sum up or continue.
	if r.SessionID == "" || t.ErrorsOnly {
		return
	}
	// The closing line has the facts that are known.
	dot := " " + t.marks.Dot + " "
	parts := []string{}
	if r.Model != "" {
		parts = append(parts, terminal.FirstLine(r.Model, 80))
	}
	if n := r.Usage.Sum(); n > 0 {
		parts = append(
			parts,
			fmt.Sprintf(
				"%s tokens in, %s out",
				terminal.FormatCount(n-r.Usage.Output-r.Usage.Reasoning),
				terminal.FormatCount(r.Usage.Output+r.Usage.Reasoning),
			),
		)
		cost := describe.FormatCost(r.Cost, r.Usage)
		if r.Usage.Unpriced > 0 {
			cost = "cost " + cost
		}
		parts = append(parts, cost)
	}
	if r.Fill > 0 {
		parts = append(parts, terminal.FormatPercent(r.Fill)+" of the window")
	}
	if r.Sandbox != "" {
		parts = append(parts, "sandbox "+string(r.Sandbox))
	}
	parts = append(parts, string(r.SessionID))
	if r.Continue != "" {
		parts = append(parts, "continue with: "+r.Continue)
	}
	t.err.Printf("%s\n", t.err.PaintText(terminal.Dim, strings.Join(parts, dot)))
}
