package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// textView shows a run to a person: what the model says on standard output, as it comes; one line for each call as it
// starts and settles, and all else, on standard error.
type textView struct {
	out, err *stream
	marks    marks
	thinking bool // show reasoning
	brief    bool // the result is shown only if it is an error

	shown   map[session.PartID]int // bytes of an item that are out; a fragment may come late
	started map[session.PartID]call
	dimmed  bool // reasoning is being written
}

// call is a tool call that has not settled.
type call struct {
	what string
	at   int64 // milliseconds
}

func newTextView(a *app, thinking bool) *textView {
	return &textView{
		out: a.out, err: a.err, marks: a.marks, thinking: thinking,
		shown: map[session.PartID]int{}, started: map[session.PartID]call{},
	}
}

func (v *textView) fragment(f session.Fragment) {
	switch f.Item {
	case session.FragmentText:
		v.text(f.PartID, f.Offset, f.Delta)
	case session.FragmentReasoning:
		v.reasoning(f.PartID, f.Offset, f.Delta)
	case session.FragmentToolInput:
	}
}

// rest is what of the item's text from offset on is not out yet. It is counted in bytes, so that a reader that comes
// back after its connection was lost repeats and leaves out nothing.
func (v *textView) rest(part session.PartID, offset int, text string) string {
	skip := v.shown[part] - offset
	if skip >= len(text) {
		return ""
	}
	v.shown[part] = offset + len(text)
	return text[max(0, skip):]
}

func (v *textView) text(part session.PartID, offset int, text string) {
	if text = v.rest(part, offset, text); text != "" {
		v.endReasoning()
		v.err.freshLine()
		v.out.say(text)
	}
}

func (v *textView) reasoning(part session.PartID, offset int, text string) {
	if text = v.rest(part, offset, text); text == "" || !v.thinking {
		return
	}
	v.out.freshLine()
	v.dimmed = true
	if v.err.color {
		v.err.printf("\x1b[%sm", dim)
		v.err.say(text)
		v.err.printf("\x1b[0m")
		v.err.midline = !strings.HasSuffix(text, "\n")
		return
	}
	v.err.say(text)
}

func (v *textView) endReasoning() {
	if v.dimmed {
		v.err.freshLine()
		v.dimmed = false
	}
}

func (v *textView) event(e session.Event) {
	switch d := e.Data.(type) {
	case *session.StepStarted:
		if changed := d.Prefix.Alarm(); changed != "" {
			v.note(cacheLost(changed))
		}
	case *session.TextEnded:
		v.text(d.PartID, 0, d.Text)
		v.out.freshLine()
	case *session.ReasoningEnded:
		v.reasoning(d.PartID, 0, d.Text)
		v.endReasoning()
	case *session.ToolCalled:
		what := describe(d.Tool, d.Input)
		v.started[d.PartID] = call{what, d.Timestamp}
		v.line(cyan, v.marks.call, what)
	case *session.ToolSuccess:
		v.settled(d.PartID, d.Timestamp, green, v.marks.good, "")
	case *session.ToolFailed:
		v.settled(d.PartID, d.Timestamp, red, v.marks.bad, d.Error.Message)
	case *session.Retried:
		v.note(retryText(d))
	case *session.PermissionReplied:
		if d.By == "cascade" {
			v.note("another ask of this session was settled by the same answer: " + string(d.Reply))
		}
	case *session.CompactionStarted:
		v.note("the session is long; its past is being summed up")
	}
}

// cacheLost is the alarm that a request did not begin as the one before.
func cacheLost(changed string) string {
	return "the provider reads the whole conversation anew, at full price: " + line(changed, 200)
}

func retryText(d *session.Retried) string {
	text := line(d.Error.Message, 200)
	wait := time.Duration(d.Next-d.Timestamp) * time.Millisecond
	if d.Next == 0 || wait <= 0 {
		return text + "; going on"
	}
	return fmt.Sprintf("%s; attempt %d follows in %s", text, d.Attempt+1, wait.Round(100*time.Millisecond))
}

func (v *textView) settled(part session.PartID, at int64, style, mark string, why ...string) {
	c, ok := v.started[part]
	if !ok {
		return
	}
	delete(v.started, part)
	what := c.what
	if took := time.Duration(at-c.at) * time.Millisecond; took >= time.Second {
		what += fmt.Sprintf(" (%s)", took.Round(100*time.Millisecond))
	}
	if reason := strings.Join(why, ""); reason != "" {
		what += ": " + line(reason, 300)
	}
	v.line(style, mark, what)
}

// prompt shows a prompt that was given elsewhere.
func (v *textView) prompt(text string) { v.line(bold, ">", v.err.paint(bold, line(text, 200))) }

// replay shows a stored message as its events were shown, and remembers how far: a message that is still being written
// goes on with the events to come.
func (v *textView) replay(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		v.prompt(m.Text)
	case *session.Assistant:
		for _, c := range m.Content {
			v.replayItem(c)
		}
		if m.Error != nil {
			v.note(m.Error.Message)
		}
	}
}

func (v *textView) replayItem(c session.Content) {
	switch c := c.(type) {
	case *session.Text:
		v.text(c.PartID, 0, c.Text)
		if c.Time != nil && c.Time.Completed != 0 {
			v.out.freshLine()
		}
	case *session.Reasoning:
		v.reasoning(c.PartID, 0, c.Text)
	case *session.Tool:
		v.replayCall(c)
	}
}

func (v *textView) replayCall(c *session.Tool) {
	if c.State.Status == session.ToolPending {
		return
	}
	what := describe(c.Name, c.State.Input)
	v.started[c.PartID] = call{what, c.Time.Ran}
	switch c.State.Status {
	case session.ToolCompleted:
		v.settled(c.PartID, c.Time.Completed, green, v.marks.good, "")
	case session.ToolError:
		why := ""
		if c.State.Error != nil {
			why = c.State.Error.Message
		}
		v.settled(c.PartID, c.Time.Completed, red, v.marks.bad, why)
	default:
		v.line(cyan, v.marks.call, what)
	}
}

// line writes one line about what happens.
func (v *textView) line(style, mark, text string) {
	v.endReasoning()
	v.out.freshLine()
	v.err.freshLine()
	v.err.printf("%s %s\n", v.err.paint(style, mark), text)
}

func (v *textView) note(text string) { v.line(yellow, "!", line(text, 600)) }

// result closes with one line: what answered, what it cost, and how to go on.
func (v *textView) result(r result) {
	v.endReasoning()
	v.out.freshLine()
	v.err.freshLine()
	if len(r.Value) > 0 && strings.TrimSpace(r.Text) != string(r.Value) { // else it is the last that was said
		v.out.printf("%s\n", r.Value)
	}
	if r.Error != nil {
		v.err.printf("%s %s\n", v.err.paint(red, "cairn:"), r.Error.Message)
		if r.Error.Hint != "" {
			v.err.printf("%s\n", r.Error.Hint)
		}
	}
	if r.SessionID == "" || v.brief {
		return
	}
	dot := " " + v.marks.dot + " "
	parts := []string{}
	if r.Model != "" {
		parts = append(parts, line(r.Model, 80))
	}
	if n := r.Usage.Sum(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s tokens in, %s out", thousands(n-r.Usage.Output-r.Usage.Reasoning), thousands(r.Usage.Output+r.Usage.Reasoning)))
		parts = append(parts, "$"+money(r.Cost))
	}
	parts = append(parts, string(r.SessionID))
	if r.Continue != "" {
		parts = append(parts, "go on with: "+r.Continue)
	}
	v.err.printf("%s\n", v.err.paint(dim, strings.Join(parts, dot)))
}
