// Package transcript shows the messages and calls of a session.
package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// Model is the transcript of one session in a box of the screen.
type Model struct {
	theme         style.Theme
	width, height int
	items         []*entry
	now           time.Time
	scroll        int // lines above the end; 0 follows the end
}

// entry is a block of lines.
type entry struct {
	kind    string // prompt, text, reasoning, call, note
	part    session.PartID
	message session.MessageID
	text    string
	began   int64
	ended   int64
	failed  bool
	detail  []string
	lines   []string // wrapped; nil is stale
}

// New returns an empty transcript.
func New(th style.Theme) *Model { return &Model{theme: th, width: 80, height: 10} }

// SetSize sets the size of the box.
func (m *Model) SetSize(width, height int) {
	if width != m.width {
		for _, it := range m.items {
			it.lines = nil
		}
	}
	m.width, m.height = width, height
}

// SetMessages replaces everything by messages, oldest first.
func (m *Model) SetMessages(ms []session.Message) {
	m.items, m.scroll = nil, 0
	for _, x := range ms {
		m.items = append(m.items, fromMessage(x)...)
	}
}

// Prepend puts an older page of messages, oldest first, before the others.
func (m *Model) Prepend(ms []session.Message) {
	var items []*entry
	for _, x := range ms {
		items = append(items, fromMessage(x)...)
	}
	m.items = append(items, m.items...)
}

// AtTop reports whether the first line is shown.
func (m *Model) AtTop() bool { return m.scroll >= m.countLines()-m.height }

// AtBottom reports whether the last line is shown.
func (m *Model) AtBottom() bool { return m.scroll == 0 }

// ScrollBy moves the box down by lines, up with a negative number.
func (m *Model) ScrollBy(lines int) {
	m.scroll = min(max(m.scroll-lines, 0), max(m.countLines()-m.height, 0))
}

// ScrollTo goes to the first line or the last.
func (m *Model) ScrollTo(top bool) {
	m.scroll = 0
	if top {
		m.scroll = max(m.countLines()-m.height, 0)
	}
}

// SetTime sets the time for the seconds of running calls.
func (m *Model) SetTime(now time.Time) {
	m.now = now
	for _, it := range m.items {
		if it.kind == "call" && it.ended == 0 {
			it.lines = nil
		}
	}
}

// IsRunning reports whether a call runs.
func (m *Model) IsRunning() bool {
	return slices.ContainsFunc(m.items, func(it *entry) bool { return it.kind == "call" && it.ended == 0 })
}

func fromMessage(x session.Message) []*entry {
	switch x := x.(type) {
	case *session.User:
		return []*entry{{kind: "prompt", message: x.ID, text: x.Text}}
	case *session.Shell:
		return []*entry{{kind: "call", message: x.ID, text: "! " + x.Command + "\n" + x.Output, ended: 1}}
	case *session.Compaction:
		return []*entry{{kind: "note", message: x.ID, text: "the history before this was summarised"}}
	case *session.Assistant:
		var items []*entry
		for _, c := range x.Content {
			items = append(items, fromContent(x.ID, c))
		}
		if x.Error != nil {
			items = append(items, &entry{kind: "note", message: x.ID, text: x.Error.Message, failed: true})
		}
		return items
	default:
		return nil
	}
}

func fromContent(id session.MessageID, c session.Content) *entry {
	switch c := c.(type) {
	case *session.Text:
		return &entry{kind: "text", part: c.PartID, message: id, text: c.Text}
	case *session.Reasoning:
		return &entry{kind: "reasoning", part: c.PartID, message: id, text: c.Text}
	case *session.Tool:
		it := &entry{
			kind: "call", part: c.PartID, message: id, text: term.DescribeCall(c.Name, c.State.Input),
			began: cmp.Or(c.Time.Ran, c.Time.Created), ended: c.Time.Completed,
		}
		it.settle(c.Name, c.State.Structured)
		if c.State.Error != nil {
			it.failed, it.detail = true, []string{c.State.Error.Message}
		}
		return it
	default:
		return &entry{kind: "note", message: id}
	}
}

func (it *entry) settle(tool string, structured []byte) {
	why, lines := term.DescribeFailure(tool, structured)
	if why != "" {
		it.failed, it.detail = true, append([]string{why}, lines...)
	}
}

func (m *Model) find(part session.PartID) *entry {
	for i := len(m.items) - 1; i >= 0 && i > len(m.items)-200; i-- {
		if m.items[i].part == part {
			return m.items[i]
		}
	}
	return nil
}

func (m *Model) open(kind string, msg session.MessageID, part session.PartID) *entry {
	if it := m.find(part); it != nil && part != "" {
		it.lines = nil
		return it
	}
	it := &entry{kind: kind, message: msg, part: part}
	m.items = append(m.items, it)
	return it
}

// ShowUpdate shows one event or fragment.
func (m *Model) ShowUpdate(u api.Update) {
	if f := u.Fragment; f != nil {
		kind := map[session.FragmentItem]string{
			session.FragmentText: "text", session.FragmentReasoning: "reasoning",
		}[f.Item]
		if kind == "" {
			return
		}
		it := m.open(kind, f.MessageID, f.PartID)
		if f.Offset <= len(it.text) {
			it.text = it.text[:f.Offset] + f.Delta
		}
		return
	}
	if u.Event == nil {
		return
	}
	switch d := u.Event.Data.(type) {
	case *session.Prompted:
		m.items = append(m.items, &entry{kind: "prompt", message: d.MessageID, text: d.Prompt.Text})
	case *session.TextEnded:
		m.open("text", d.AssistantMessageID, d.PartID).text = d.Text
	case *session.ReasoningEnded:
		m.open("reasoning", d.AssistantMessageID, d.PartID).text = d.Text
	case *session.ToolCalled:
		it := m.open("call", d.AssistantMessageID, d.PartID)
		it.kind, it.text, it.began = "call", term.DescribeCall(d.Tool, d.Input), d.Timestamp
	case *session.ToolSuccess:
		it := m.open("call", d.AssistantMessageID, d.PartID)
		it.ended = d.Timestamp
		it.settle("bash", d.Structured)
	case *session.ToolFailed:
		it := m.open("call", d.AssistantMessageID, d.PartID)
		it.ended, it.failed, it.detail = d.Timestamp, true, []string{d.Error.Message}
	case *session.StepFailed:
		m.addFailure(d.Error)
	case *session.Interrupted:
		m.addFailure(d.Error)
	case *session.Retried:
		m.items = append(m.items, &entry{kind: "note", text: d.Error.Message + "; retrying"})
	default:
		if text := term.DescribeCompactionEvent(d); text != "" {
			m.items = append(m.items, &entry{kind: "note", text: text})
		}
	}
}

func (m *Model) addFailure(f session.Failure) {
	text := f.Message
	if f.Reason == session.ReasonAborted {
		text = "stopped"
	}
	m.items = append(m.items, &entry{kind: "note", text: text, failed: true})
}

func (m *Model) countLines() int {
	n := 0
	for _, it := range m.items {
		n += len(m.linesOf(it))
	}
	return n
}

func (m *Model) linesOf(it *entry) []string {
	if it.lines == nil {
		it.lines = m.render(it)
	}
	return it.lines
}

func (m *Model) render(it *entry) []string {
	text := strings.TrimSpace(term.ReplaceControls(it.text))
	st, mark := m.theme.Text, ""
	switch it.kind {
	case "prompt":
		st, mark = m.theme.Accent, "> "
	case "reasoning":
		st, text = m.theme.Muted, "thought: "+term.FirstLine(text, 200)
	case "note":
		st, mark = m.theme.Warning, "! "
	case "call":
		switch {
		case it.failed:
			st, mark = m.theme.Error, "✗ "
		case it.ended != 0:
			st, mark = m.theme.Success, "✓ "
		default:
			st, mark = m.theme.Accent, "→ "
		}
		if took := m.measureCall(it); took >= time.Second {
			text += fmt.Sprintf(" (%s)", took.Round(time.Second))
		}
		for _, l := range it.detail {
			text += "\n  " + term.ReplaceControls(l)
		}
	}
	var lines []string
	for _, l := range strings.Split(ansi.Wrap(mark+strings.ReplaceAll(text, "\t", "    "), max(m.width, 2), ""), "\n") {
		lines = append(lines, st.Render(ansi.Truncate(l, m.width, "…")))
	}
	if it.kind != "call" {
		lines = append(lines, "")
	}
	return lines
}

func (m *Model) measureCall(it *entry) time.Duration {
	end := it.ended
	if end == 0 {
		end = m.now.UnixMilli()
	}
	if it.began == 0 {
		return 0
	}
	return time.Duration(end-it.began) * time.Millisecond
}

// View returns the lines of the box.
func (m *Model) View() string {
	need := m.height + m.scroll
	var out []string
	for i := len(m.items) - 1; i >= 0 && len(out) < need; i-- {
		out = append(slices.Clone(m.linesOf(m.items[i])), out...)
	}
	out = out[:max(len(out)-m.scroll, 0)]
	out = out[max(len(out)-m.height, 0):]
	for len(out) < m.height {
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

// Copy returns the newest message.
func (m *Model) Copy(string) string {
	for i := len(m.items) - 1; i >= 0; i-- {
		if m.items[i].kind == "text" {
			return m.items[i].text
		}
	}
	return ""
}

// Toggle opens or closes the selected item.
func (m *Model) Toggle() {}

// ToggleAll opens or closes all items.
func (m *Model) ToggleAll() {}

// Select moves the selection.
func (m *Model) Select(int) {}

// Search finds text and returns how many items have it.
func (m *Model) Search(text string) (hits int) {
	for _, it := range m.items {
		if text != "" && strings.Contains(strings.ToLower(it.text), strings.ToLower(text)) {
			hits++
		}
	}
	return hits
}

// NextHit goes to the next item that was found.
func (m *Model) NextHit(int) {}

// SelectedMessage returns the message of the selected item.
func (m *Model) SelectedMessage() session.MessageID { return "" }
