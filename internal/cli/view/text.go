package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
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
	at         int64    // milliseconds
	todos      []string // lines of the todos that the call sets
}

func NewText(a *cli.Invocation, thinking bool) *Text {
	theme, _ := style.New("", a.Env) // the default exists
	return &Text{
		theme: theme, out: a.Out, err: a.Err, marks: a.Marks, thinking: thinking,
		shown: map[session.PartID]int{}, started: map[session.PartID]pendingCall{}, buffered: !a.Out.Terminal,
	}
}

// ShowFragment shows text as it arrives. What arrives during a dialog is shown with the event that ends the item.
func (v *Text) ShowFragment(f session.Fragment) {
	if v.Live != nil {
		v.Live.NoteFragment(f)
	}
	if v.isAsking() {
		return
	}
	v.showDeferred()
	switch f.Item {
	case session.FragmentText:
		v.showText(f.PartID, f.Offset, f.Delta)
	case session.FragmentReasoning:
		v.showReasoning(f.PartID, f.Offset, f.Delta)
	case session.FragmentToolInput:
	}
}

// unshownText returns the part of the item's text after offset that is not printed yet, counted in bytes, so that a
// resumed stream repeats and omits nothing.
func (v *Text) unshownText(part session.PartID, offset int, text string) string {
	skip := v.shown[part] - offset
	if skip >= len(text) {
		return ""
	}
	v.shown[part] = offset + len(text)
	return text[max(0, skip):]
}

func (v *Text) showText(part session.PartID, offset int, text string) {
	if text = v.unshownText(part, offset, text); text != "" {
		v.endReasoning()
		v.err.EndLine()
		v.held += text
		if !v.buffered {
			v.flush()
		}
	}
}

// flush writes the held text of the current attempt: as it is, or on a terminal its complete lines as Markdown.
func (v *Text) flush() {
	text := v.held
	v.held = ""
	switch {
	case text == "":
	case !v.isRich():
		v.out.WriteText(text)
	default:
		if v.markdown == nil {
			width, _ := v.Live.area.MeasureRoom()
			v.markdown = markdown.NewLiveText(v.theme, width)
		}
		text = v.partial + terminal.ReplaceControls(text)
		end := strings.LastIndexByte(text, '\n') + 1
		v.markdown.AddLines(text[:end])
		v.printLines(v.markdown.TakeLines())
		v.partial = text[end:]
		v.Live.NotePartial(v.partial)
	}
}

// isRich reports whether the terminal shows styles and the signs of Markdown and diffs, which need UTF-8.
func (v *Text) isRich() bool { return v.Live != nil && v.marks.Call != "->" }

func (v *Text) printLines(lines []string) {
	for _, l := range lines {
		v.out.Printf("%s\n", l)
	}
}

// endText ends a text and its last line.
func (v *Text) endText() {
	if v.held != "" && !strings.HasSuffix(v.held, "\n") {
		v.held += "\n"
	}
	if v.markdown != nil {
		v.printLines(v.markdown.TakeRest(v.partial))
		v.markdown, v.partial = nil, ""
		v.Live.NotePartial("")
	}
	v.out.EndLine()
}

func (v *Text) showReasoning(part session.PartID, offset int, text string) {
	if text = v.unshownText(part, offset, text); text == "" || !v.thinking {
		return
	}
	v.out.EndLine()
	v.dimmed = true
	if v.err.Color {
		v.err.Printf("\x1b[%sm", terminal.Dim)
		v.err.WriteText(text)
		v.err.Printf("\x1b[0m")
		v.err.Midline = !strings.HasSuffix(text, "\n")
		return
	}
	v.err.WriteText(text)
}

func (v *Text) endReasoning() {
	if v.dimmed {
		v.err.EndLine()
		v.dimmed = false
	}
}

func (v *Text) isAsking() bool { return v.IsAsking != nil && v.IsAsking() }

// showDeferred shows what happened during a dialog.
func (v *Text) showDeferred() {
	events := v.deferred
	v.deferred = nil
	for _, e := range events {
		v.showEvent(e)
	}
}

// ShowEvent shows an event, during a dialog after it.
func (v *Text) ShowEvent(e session.Event) {
	if v.Live != nil {
		v.Live.NoteEvent("", e.Data)
	}
	if v.deferred = append(v.deferred, e); !v.isAsking() {
		v.showDeferred()
	}
}

// showEvent prints a durable event. Fragments have printed most of a text before; what is missing of it follows here.
func (v *Text) showEvent(e session.Event) {
	switch d := e.Data.(type) {
	case *session.StepStarted:
		if changed := d.Prefix.UnexpectedChange(); changed != "" {
			v.ShowNote(describe.CacheNote(changed))
		}
	// Texts and reasoning, whose end is a line end.
	case *session.TextEnded:
		v.showText(d.PartID, 0, d.Text)
		v.endText()
	case *session.StepEnded:
		v.flush()
	case *session.ReasoningEnded:
		v.showReasoning(d.PartID, 0, d.Text)
		v.endReasoning()
	// A call is printed when it begins, unless a live area shows it, and again with its result.
	case *session.ToolCalled:
		v.flush()
		what := describe.DescribeCall(d.Tool, d.Input)
		v.started[d.PartID] = pendingCall{d.Tool, what, d.Timestamp, describe.CallTodos(d.Tool, d.Input)}
		if v.Live == nil {
			v.ShowLine(terminal.Cyan, v.marks.Call, what)
		}
	case *session.ToolSuccess:
		v.showResult(d.PartID, d.Timestamp, d.Structured)
	case *session.ToolFailed:
		v.showSettled(d.PartID, d.Timestamp, cmp.Or(d.Error.Message, "failed"))
	// A retry starts the answer from the beginning, so what is held back of the failed one is dropped.
	case *session.Retried:
		v.held = ""
		v.endText()
		v.ShowNote(describe.DescribeRetry(d))
	case *session.PermissionReplied:
		if d.By == "cascade" {
			v.ShowNote("another request of this session was settled by the same answer: " + string(d.Reply))
		}
	default:
		if text := describe.DescribeCompactionEvent(d); text != "" {
			v.ShowNote(text)
		}
	}
}

// maxDiff bounds the lines of a diff that are shown.
const maxDiff = 20

// showResult shows the end of a call with a result: the todos that it set; the end of the output of a command that
// failed; what it changed in files.
func (v *Text) showResult(part session.PartID, at int64, structured jsontext.Value) {
	var result struct {
		Diff string `json:"diff"`
	}
	_ = json.Unmarshal(structured, &result, jsontext.AllowInvalidUTF8(true)) // other tools have other members
	c, ok := v.started[part]
	if ok && result.Diff != "" {
		if added, removed := diffview.CountLines(result.Diff); added+removed > 0 {
			c.what += fmt.Sprintf(" +%d -%d", added, removed)
			v.started[part] = c
		}
	}
	why, lines := describe.DescribeFailure(c.tool, structured)
	v.showSettled(part, at, why)
	if ok && result.Diff != "" && v.isRich() {
		v.showDiff(terminal.ReplaceControls(result.Diff))
	}
	for _, l := range append(c.todos, lines...) {
		v.err.Printf("%s\n", v.err.PaintText(terminal.Dim, l))
	}
}

func (v *Text) showDiff(diff string) {
	width, _ := v.Live.area.MeasureRoom()
	lines := diffview.Render(v.theme, diff, max(width-4, 10), false)
	if more := len(lines) - maxDiff; more > 1 {
		rest := v.err.PaintText(terminal.Dim, fmt.Sprintf("… %d more lines: cairn session diff", more))
		lines = append(lines[:maxDiff:maxDiff], rest)
	}
	for _, l := range lines {
		v.err.Printf("    %s\n", l)
	}
}

// showSettled shows the end of a call, which failed unless why is "".
func (v *Text) showSettled(part session.PartID, at int64, why string) {
	c, ok := v.started[part]
	if !ok {
		return
	}
	delete(v.started, part)
	style, mark := terminal.Green, v.marks.Good
	if why != "" {
		style, mark = terminal.Red, v.marks.Bad
	}
	what := c.what
	if took := time.Duration(at-c.at) * time.Millisecond; took >= time.Second {
		what += fmt.Sprintf(" (%s)", took.Round(100*time.Millisecond))
	}
	if why != "" {
		what += ": " + terminal.FirstLine(why, 300)
	}
	v.ShowLine(style, mark, what)
}

// ShowPrompt shows a prompt that was given elsewhere.
func (v *Text) ShowPrompt(text string) {
	v.ShowLine(terminal.Bold, ">", v.err.PaintText(terminal.Bold, terminal.FirstLine(text, 200)))
}

// ReplayMessage shows a stored message as its events were shown, and remembers how far: a message that is still being
// written goes on with the events to come.
func (v *Text) ReplayMessage(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		v.ShowPrompt(m.DisplayText())
	case *session.Assistant:
		for _, c := range m.Content {
			v.replayItem(c)
		}
		if m.Error != nil {
			v.ShowNote(m.Error.Message)
		}
	}
}

func (v *Text) replayItem(c session.Content) {
	switch c := c.(type) {
	case *session.Text:
		v.showText(c.PartID, 0, c.Text)
		if c.Time != nil && c.Time.Completed != 0 {
			v.endText()
		}
	case *session.Reasoning:
		v.showReasoning(c.PartID, 0, c.Text)
	case *session.Tool:
		v.replayCall(c)
	}
}

func (v *Text) replayCall(c *session.Tool) {
	if c.State.Status == session.ToolPending {
		return
	}
	what := describe.DescribeCall(c.Name, c.State.Input)
	v.started[c.PartID] = pendingCall{c.Name, what, c.Time.Ran, describe.CallTodos(c.Name, c.State.Input)}
	switch c.State.Status {
	case session.ToolCompleted:
		v.showResult(c.PartID, c.Time.Completed, c.State.Structured)
	case session.ToolError:
		why := "failed"
		if c.State.Error != nil {
			why = cmp.Or(c.State.Error.Message, why)
		}
		v.showSettled(c.PartID, c.Time.Completed, why)
	default:
		v.ShowLine(terminal.Cyan, v.marks.Call, what)
	}
}

// ShowLine writes one line about what happens.
func (v *Text) ShowLine(style, mark, text string) {
	v.endReasoning()
	if v.markdown != nil {
		v.endText()
	}
	v.out.EndLine()
	v.err.EndLine()
	v.err.Printf("%s %s\n", v.err.PaintText(style, mark), text)
}

func (v *Text) ShowNote(text string) { v.ShowLine(terminal.Yellow, "!", terminal.FirstLine(text, 600)) }

// ShowResult prints the closing line: model, usage, cost, and how to continue.
func (v *Text) ShowResult(r Result) {
	// Finish what is still open on the screen.
	v.showDeferred()
	v.endReasoning()
	v.flush()
	v.endText()
	v.err.EndLine()
	if len(r.Value) > 0 && strings.TrimSpace(r.Text) != string(r.Value) { // else it is the last that was said
		v.out.Printf("%s\n", r.Value)
	}
	if r.Error != nil {
		v.err.Printf("%s %s\n", v.err.PaintText(terminal.Red, "cairn:"), r.Error.Message)
		if r.Error.Hint != "" {
			v.err.Printf("%s\n", r.Error.Hint)
		}
	}
	// Without a session there is nothing to sum up or continue.
	if r.SessionID == "" || v.ErrorsOnly {
		return
	}
	// The closing line has the facts that are known.
	dot := " " + v.marks.Dot + " "
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
	v.err.Printf("%s\n", v.err.PaintText(terminal.Dim, strings.Join(parts, dot)))
}
