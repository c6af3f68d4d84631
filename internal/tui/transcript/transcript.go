// Package transcript shows the messages and calls of a session in a box of the screen.
//
// A section shows one message or one item of an answer. Its lines are rendered when they are first on the
// screen, and again when it changes; a session of any length costs what its screen costs.
package transcript

import (
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
)

// Model is the transcript of one session. Not safe for concurrent use.
type Model struct {
	theme         style.Theme
	width, height int
	now           time.Time

	sections []*section
	turns    map[session.MessageID]*turnSections
	shells   map[string]*section // commands of the user, by their call
	tasks    map[session.ID]*taskWork
	asking   []session.PartID // calls that wait for a person

	// bottom is the last line on the screen. With follow it is the last line of the last section.
	bottom   linePosition
	follow   bool
	selected *section // nil without a selection
	sought   string   // is marked in the selected section
	opened   bool     // sections are open unless they were closed
}

// turnSections is an answer of the model with the sections of its items, in their order.
type turnSections struct {
	message  *session.Assistant
	sections []*section
}

// linePosition is a line of a section, counted from 1.
type linePosition struct{ section, line int }

// New returns an empty transcript.
func New(th style.Theme) *Model {
	return &Model{
		theme: th, width: 80, height: 10, follow: true,
		turns: map[session.MessageID]*turnSections{}, shells: map[string]*section{},
		tasks: map[session.ID]*taskWork{},
	}
}

// SetSize sets the size of the box.
func (m *Model) SetSize(width, height int) {
	if width != m.width {
		for _, b := range m.sections {
			b.lines, b.arrived = nil, arrivedLines{}
		}
	}
	m.width, m.height = width, max(height, 0)
}

// SetTheme draws all sections again in a theme.
func (m *Model) SetTheme(th style.Theme) {
	m.theme = th
	for _, b := range m.sections {
		b.lines, b.arrived = nil, arrivedLines{}
	}
}

// SetMessages replaces everything by messages, oldest first, without what the revert takes back; nil without one.
func (m *Model) SetMessages(ms []session.Message, taken *session.Revert) {
	open := m.opened
	*m = *New(m.theme).withSize(m.width, m.height)
	m.opened = open
	shown, hidden := hideTaken(ms, taken)
	for _, x := range shown {
		m.sections = append(m.sections, m.addMessage(x)...)
	}
	if hidden {
		m.AddNote("what follows is taken back; /redo brings it back")
	}
	m.markNeighbours()
}

func (m *Model) withSize(width, height int) *Model {
	m.width, m.height = width, height
	return m
}

// Prepend puts an older page of messages, oldest first, before the others. What is on the screen stays there.
func (m *Model) Prepend(ms []session.Message) {
	var older []*section
	for _, x := range ms {
		older = append(older, m.addMessage(x)...)
	}
	m.sections = append(older, m.sections...)
	m.bottom.section += len(older)
	m.markNeighbours()
}

// SetTime sets the time for the seconds of running calls.
func (m *Model) SetTime(now time.Time) {
	m.now = now
	for _, b := range m.sections[max(len(m.sections)-maxRunning, 0):] {
		if b.isRunning() {
			b.lines = nil
		}
	}
}

// SetAsking names the calls that wait for a person, whose seconds are not shown meanwhile.
func (m *Model) SetAsking(parts []session.PartID) {
	m.asking = parts
	m.SetTime(m.now)
}

// maxRunning bounds the sections at the end among which running calls are searched.
const maxRunning = 500

// hideTaken returns the messages, oldest first, without those that the revert takes back, and whether there are some.
// If the revert begins before all of them, they are shown.
func hideTaken(ms []session.Message, taken *session.Revert) (shown []session.Message, hidden bool) {
	if taken == nil || taken.FilesOnly {
		return ms, false
	}
	newest := slices.Clone(ms)
	slices.Reverse(newest)
	n, found := taken.CountTaken(newest)
	if !found {
		return ms, false
	}
	at := len(ms) - n
	shown = slices.Clone(ms[:at])
	if taken.PartID == "" {
		return shown, true
	}
	// A part of the message stays.
	if a, ok := ms[at].(*session.Assistant); ok {
		cut := *a
		end := slices.IndexFunc(a.Content, func(c session.Content) bool { return c.ItemID() == taken.PartID })
		cut.Content = a.Content[:max(end, 0)]
		shown = append(shown, &cut)
	} else if !taken.Exclusive {
		shown = append(shown, ms[at])
	}
	return shown, true
}

// addMessage returns the sections of a message, none for messages that are not shown.
func (m *Model) addMessage(x session.Message) []*section {
	switch x := x.(type) {
	case *session.User:
		return []*section{{message: x.ID, item: x}}
	case *session.Shell:
		b := &section{message: x.ID, item: x}
		m.shells[x.CallID] = b
		return []*section{b}
	case *session.Compaction:
		return []*section{{message: x.ID, item: x}}
	case *session.AgentSwitch:
		return []*section{{message: x.ID, item: note{text: "agent: " + x.Agent, quiet: true}}}
	case *session.ModelSwitch:
		return []*section{{message: x.ID, item: note{text: "model: " + x.Model.String(), quiet: true}}}
	case *session.Assistant:
		t := &turnSections{message: x}
		m.turns[x.ID] = t
		t.addSections()
		sections := slices.Clone(t.sections)
		if x.Error != nil {
			sections = append(sections, &section{message: x.ID, item: noteOf(*x.Error)})
		}
		return sections
	default:
		return nil
	}
}

// addSections adds sections for the items that have none.
func (t *turnSections) addSections() (added []*section) {
	for _, c := range t.message.Content[len(t.sections):] {
		added = append(added, &section{message: t.message.ID, item: c})
	}
	t.sections = append(t.sections, added...)
	return added
}

// AddNote adds a line about the session at the end.
func (m *Model) AddNote(text string) { m.appendSections([]*section{{item: note{text: text}}}) }

// appendSections adds sections at the end.
func (m *Model) appendSections(added []*section) {
	from := max(len(m.sections)-1, 0)
	m.sections = append(m.sections, added...)
	m.markBetween(from)
}

// markNeighbours tells each section whether a call precedes it.
func (m *Model) markNeighbours() { m.markBetween(0) }

func (m *Model) markBetween(from int) {
	for i := max(from, 1); i < len(m.sections); i++ {
		after := m.sections[i-1].isCall() && !m.sections[i].isCall()
		if after != m.sections[i].afterCall {
			m.sections[i].afterCall, m.sections[i].lines, m.sections[i].arrived = after, nil, arrivedLines{}
		}
	}
}

// linesOf returns the lines of a section.
func (m *Model) linesOf(i int) []string {
	b := m.sections[i]
	if b.lines == nil {
		b.lines = painter{m.theme, m.width, m.now, m.tasks, m.asking}.renderSection(b, m.isOpen(b))
		if b.selected && len(b.lines) > 0 {
			m.markSelected(b.lines)
		}
	}
	return b.lines
}

// markSelected marks the first line of the selected section, and what is sought in it.
func (m *Model) markSelected(lines []string) {
	first := 0
	for first < len(lines)-1 && lines[first] == "" {
		first++
	}
	for i, line := range lines {
		marked, hit := m.markHits(line)
		if hit {
			lines[i] = marked
		} else if i == first {
			lines[i] = m.theme.Selected.Render(ansi.Strip(line))
		}
	}
}

// isOpen reports whether all of a section is shown.
func (m *Model) isOpen(b *section) bool { return m.opened != b.toggled }
