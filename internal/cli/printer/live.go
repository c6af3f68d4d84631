package printer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// LiveInterval is the interval at which Live is drawn.
const LiveInterval = 100 * time.Millisecond

// tailLines is the number of the last lines of a running command's output that are shown.
const tailLines = 5

// Live shows what runs at the moment below what has happened: the calls with their seconds, the end of the output of a
// command, what each subagent does, and for how long the work has gone on.
type Live struct {
	area   *terminal.LiveArea
	err    *terminal.Stream
	spin   []string
	frame  int
	began  time.Time
	phase  string // what happens while no call runs
	calls  []liveCall
	output session.PartID // the call whose output came last

	partial string // the line that the model writes
}

// liveCall is a call that runs, of the session or of a subagent's.
type liveCall struct {
	part    session.PartID
	session session.ID // the subagent's that makes the call; "" is the session of the work
	what    string
	began   time.Time
	tail    []string
	task    session.ID // the subagent's that the call waits for; "" without one
}

// NewLive returns the display of running work; nil unless the streams write to one terminal.
func NewLive(a *cli.Invocation) *Live {
	area := terminal.NewLiveArea(a.Out, a.Err, a.Env)
	if area == nil {
		return nil
	}
	return newLive(area, a.Err, a.Marks)
}

func newLive(area *terminal.LiveArea, err *terminal.Stream, marks terminal.Marks) *Live {
	spin := `|/-\`
	if marks.Call != "->" {
		spin = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	}
	return &Live{area: area, err: err, spin: strings.Split(spin, ""), began: time.Now(), phase: "starting"}
}

// NoteEvent notes what the event of a session begins or ends. The session of the work is "".
func (l *Live) NoteEvent(id session.ID, d session.EventData) {
	switch d := d.(type) {
	case *session.ToolCalled:
		l.calls = append(l.calls, liveCall{
			part: d.PartID, session: id, what: describe.DescribeCall(d.Tool, d.Input), began: time.Now(),
			task: follow.TaskSession(d),
		})
	case *session.ToolSuccess:
		l.endCall(d.PartID)
	case *session.ToolFailed:
		l.endCall(d.PartID)
	case *session.Prompted, *session.StepStarted:
		l.setPhase(id, "waiting for the model")
	case *session.CompactionStarted:
		l.setPhase(id, "compacting")
	case *session.Retried:
		l.setPhase(id, "waiting for the next attempt")
	case *session.StepEnded:
		l.setPhase(id, "working")
	}
}

func (l *Live) setPhase(id session.ID, phase string) {
	if id == "" {
		l.phase = phase
	}
}

// endCall forgets a call and those of its subagent.
func (l *Live) endCall(part session.PartID) {
	i := slices.IndexFunc(l.calls, func(c liveCall) bool { return c.part == part })
	if i < 0 {
		return
	}
	task := l.calls[i].task
	l.calls, l.phase = slices.Delete(l.calls, i, i+1), "waiting for the model"
	if task == "" {
		return
	}
	for _, c := range slices.Clone(l.calls) {
		if c.session == task {
			l.endCall(c.part)
		}
	}
}

// NoteFragment notes what the model writes.
func (l *Live) NoteFragment(f session.Fragment) {
	switch f.Item {
	case session.FragmentReasoning:
		l.phase = "thinking"
	case session.FragmentText, session.FragmentToolInput:
		l.phase = "writing"
	}
}

// NotePartial takes the line that the model writes, as far as it has arrived.
func (l *Live) NotePartial(text string) { l.partial = text }

// NoteProgress takes the output so far of a running call.
func (l *Live) NoteProgress(p *session.ToolProgress) {
	var result struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(p.Structured, &result, jsontext.AllowInvalidUTF8(true)) // other tools have other members
	for i, c := range l.calls {
		if c.part == p.PartID && result.Output != "" {
			l.calls[i].tail, l.output = lastLines(result.Output), c.part
		}
	}
}

// lastLines returns the last lines of an output.
func lastLines(output string) []string {
	lines := strings.Split(strings.TrimRight(terminal.CleanOutput(output), "\n"), "\n")
	lines = lines[max(len(lines)-tailLines, 0):]
	for i, l := range lines {
		lines[i] = terminal.FirstLine(l, 400)
	}
	return lines
}

// DrawFrame shows the next frame.
func (l *Live) DrawFrame() {
	l.frame = (l.frame + 1) % len(l.spin)
	l.area.DrawLines(l.renderLines(l.area.MeasureRoom()))
}

// renderLines returns at most room lines.
func (l *Live) renderLines(width, room int) []string {
	var lines []string
	if l.partial != "" {
		lines = strings.Split(ansi.Wrap(strings.ReplaceAll(l.partial, "\t", "    "), width, ""), "\n")
		lines = lines[max(len(lines)-tailLines, 0):]
	}
	lines = append(lines, l.renderCalls("", "", width)...)
	if len(lines) > room-1 {
		more := len(lines) - room + 2
		lines = append(lines[:max(room-2, 0):max(room-2, 0)],
			l.err.PaintText(terminal.Dim, fmt.Sprintf("  and %d more lines", more)))
	}
	phase := l.phase
	if len(l.calls) > 0 {
		phase = "running " + terminal.FormatPlural(l.countCalls(), "call")
	}
	spin := l.err.PaintText(terminal.Cyan, l.spin[l.frame])
	return append(lines, spin+" "+l.err.PaintText(terminal.Dim, phase+" "+describeSeconds(l.began)))
}

// Clear removes the display until the next frame.
func (l *Live) Clear() { l.area.Clear() }

func (l *Live) countCalls() (n int) {
	for _, c := range l.calls {
		if c.session == "" {
			n++
		}
	}
	return n
}

// renderCalls returns a line for each call of a session, with the end of the output that came last; a call that waits
// for a subagent says what that does, and the subagents of the subagent follow.
func (l *Live) renderCalls(id session.ID, indent string, width int) (lines []string) {
	for _, c := range l.calls {
		if c.session != id {
			continue
		}
		text := c.what
		if c.task != "" {
			if doing := l.describeTask(c.task); doing != "" {
				text += ": " + doing
			}
		} else if id != "" {
			continue // the line of the subagent says it
		}
		took := " " + describeSeconds(c.began)
		text = terminal.FirstLine(text, max(width-len(indent)-len(took)-3, 10))
		spin := l.err.PaintText(terminal.Cyan, l.spin[l.frame])
		lines = append(lines, indent+spin+" "+text+l.err.PaintText(terminal.Dim, took))
		if c.part == l.output {
			for _, t := range c.tail {
				lines = append(lines, l.err.PaintText(terminal.Dim, indent+"    "+t))
			}
		}
		if c.task != "" {
			lines = append(lines, l.renderCalls(c.task, indent+"  ", width)...)
		}
	}
	return lines
}

// describeTask describes the newest call that runs in a subagent's session.
func (l *Live) describeTask(id session.ID) string {
	for _, c := range slices.Backward(l.calls) {
		if c.session == id {
			return c.what
		}
	}
	return ""
}

func describeSeconds(began time.Time) string { return time.Since(began).Truncate(time.Second).String() }
