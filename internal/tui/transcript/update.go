package transcript

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// ShowEvent shows one event. Events and fragments come in the order of the log.
func (m *Model) ShowEvent(e *session.Event) {
	// Events that begin a message.
	if begun := session.Begin(e.Data, e.Seq); begun != nil {
		m.appendSections(m.addMessage(begun))
		if c, ok := e.Data.(*session.CompactionEnded); ok {
			m.AddNote(describe.DescribeCompaction(c))
		}
		return
	}
	// Events of a turn that is shown.
	if t := m.turns[session.ChangedTurn(e.Data)]; t != nil {
		m.applyTurnEvent(t, e.Data)
		return
	}
	// Other events: they change a message (whose lines are rendered again), or become a note.
	switch d := e.Data.(type) {
	case *session.ShellEnded:
		if b := m.shells[d.CallID]; b != nil {
			sh, _ := b.item.(*session.Shell)
			sh.Apply(d)
			b.lines = nil
		}
	case *session.MessageEdited:
		for _, b := range m.sections {
			if u, ok := b.item.(*session.User); ok && u.Apply(d) {
				b.lines = nil
			}
		}
	case *session.Retried:
		m.dropFailure(d.Error.Message)
		m.AddNote(describe.DescribeRetry(d))
	default:
		if text := describe.DescribeEvent(d); text != "" {
			m.AddNote(text)
		}
	}
}

// ShowProgress shows the output so far of a running call, or of a command of the user.
func (m *Model) ShowProgress(p *session.ToolProgress) {
	if t := m.turns[p.AssistantMessageID]; t != nil {
		m.applyTurnEvent(t, p)
		return
	}
	b := m.shells[p.CallID]
	if b == nil || b.isSettled() {
		return
	}
	sh, _ := b.item.(*session.Shell)
	sh.Output, b.lines = resultOf(&session.Tool{State: session.ToolState{Structured: p.Structured}}).Output, nil
}

// ShowFragment adds live text to its item, if that is open.
func (m *Model) ShowFragment(f *session.Fragment) {
	t := m.turns[f.MessageID]
	if t == nil {
		return
	}
	for _, b := range slices.Backward(t.sections) {
		if b.part() == f.PartID {
			b.addLive(f)
			return
		}
	}
}

// dropFailure removes the failure at the end if it has the text, which what follows says again.
func (m *Model) dropFailure(text string) {
	last := len(m.sections) - 1
	if last < 0 {
		return
	}
	if n, ok := m.sections[last].item.(note); ok && n.failed && n.text == text {
		m.sections = m.sections[:last]
	}
}

// applyTurnEvent applies the event to the turn and its sections.
func (m *Model) applyTurnEvent(t *turnSections, d session.EventData) {
	if !t.message.Apply(d) {
		return
	}
	if len(t.message.Content) < len(t.sections) { // an item was removed
		m.sections = slices.DeleteFunc(m.sections, func(b *section) bool {
			return slices.Contains(t.sections, b) && !slices.Contains(t.message.Content, b.content())
		})
		t.sections = slices.DeleteFunc(t.sections, func(b *section) bool {
			return !slices.Contains(t.message.Content, b.content())
		})
		m.markNeighbours()
	}
	for i, b := range t.sections {
		b.item, b.lines = t.message.Content[i], nil
		if b.isSettled() {
			b.live, b.arrived = nil, arrivedLines{}
		}
	}
	m.appendSections(t.addSections())
	if failed, ok := d.(*session.StepFailed); ok {
		m.appendSections([]*section{{message: t.message.ID, item: noteOf(failed.Error)}})
	}
}
