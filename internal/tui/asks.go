package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// The times of keys that answer an ask.
const (
	armDelay  = 600 * time.Millisecond // without a pressed key, after which an ask takes keys
	holdDelay = 150 * time.Millisecond // after which a key that answers has not begun a text
)

func (q *askQueue) clear() { *q = askQueue{presses: q.presses, files: q.files} }

// armDialog lets the ask take keys, unless one was pressed since.
func (q *askQueue) armDialog(presses int) {
	if presses == q.presses && q.dialog != nil {
		q.armed = true
	}
}

// disarm has the keys go to the composer until the person pauses.
func (q *askQueue) disarm() { q.armed, q.chosen, q.held = false, false, nil }

// holdOff notes a key that was pressed before the ask takes keys, and delays the ask.
func (q *askQueue) holdOff() tea.Cmd {
	if q.dialog == nil || q.armed {
		return nil
	}
	q.presses++
	return q.armLater()
}

func (q *askQueue) armLater() tea.Cmd {
	n := q.presses
	return tea.Tick(armDelay, func(time.Time) tea.Msg { return armMsg{n} })
}

// hold keeps an answering key until it is clear that no text follows it.
func (q *askQueue) hold(k tea.KeyPressMsg) tea.Cmd {
	q.presses++
	q.held = &k
	n := q.presses
	return tea.Tick(holdDelay, func(time.Time) tea.Msg { return heldMsg{n} })
}

// takesAskKeys reports whether keys answer the ask: it is armed and, unless the person turned to it, no prompt is
// typed.
func (m *model) takesAskKeys() bool {
	return m.asks.dialog != nil && m.asks.armed && (m.editor.IsEmpty() || m.asks.chosen)
}

// routeAskKey handles a key while an ask is on the screen. It reports whether the key was the ask's; others are the
// composer's.
//
// No key of a sentence gives a lasting answer. One key answers once, or rejects, only after a pause in typing, in an
// empty composer, and if no text follows; with text both are the prompt's. A lasting answer is opened, and takes Enter.
func routeAskKey(m *model, k tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	q := &m.asks
	if !m.takesAskKeys() {
		q.chosen = q.dialog != nil && q.armed && k.String() == "tab" && !m.completion.IsOpen()
		return nil, q.chosen
	}
	switch use, held := q.dialog.UseOf(k), q.held; {
	case held != nil && k.Text == "": // Enter confirms the answer, other keys withdraw it
		if q.held = nil; k.String() == "enter" {
			return pressAskKey(m, *held), true
		}
		return nil, true
	case held == nil && use == dialog.Answers && m.editor.IsEmpty():
		return q.hold(k), true
	case held == nil && use == dialog.ForDialog:
		return pressAskKey(m, k), true
	}
	q.beginText(&m.editor)
	return nil, false
}

// beginText has the keys go to the composer, with those that were taken for an answer.
func (q *askQueue) beginText(to *composer.Editor) {
	to.Insert(q.dialog.TakeBack())
	if q.held != nil {
		to.Insert(q.held.Text)
	}
	q.disarm()
}

// pressHeldKey gives the answer of the held key, unless another key followed.
func pressHeldKey(m *model, presses int) tea.Cmd {
	q := &m.asks
	if q.held == nil || presses != q.presses || q.dialog == nil {
		return nil
	}
	k := *q.held
	q.held = nil
	return pressAskKey(m, k)
}

// addAsk queues an ask: it is shown now, or when the asks before it are answered.
func addAsk(m *model, a session.PendingAsk) tea.Cmd {
	if slices.ContainsFunc(m.asks.pending, func(b session.PendingAsk) bool { return b.ID == a.ID }) {
		return nil
	}
	if ans, ok := m.asks.files.AnswerApproved(a); ok {
		return deliverAnswer(m, ans)
	}
	m.asks.pending = append(m.asks.pending, a)
	m.transcript.SetAsking(m.asks.listCalls())
	tell := m.notify.TellPerson("cairn asks in "+m.askerTitle(a), describe.AskSummary(a), m.blurred)
	if len(m.asks.pending) > 1 {
		m.asks.countWaiting()
		return tell
	}
	return tea.Batch(tell, showAsk(m))
}

// listCalls returns the calls that ask.
func (q *askQueue) listCalls() (parts []session.PartID) {
	for _, a := range q.pending {
		if a.Source != nil {
			parts = append(parts, a.Source.PartID)
		}
	}
	return parts
}

// countWaiting has the ask on the screen say how many wait behind it.
func (q *askQueue) countWaiting() {
	if d, ok := q.dialog.(*dialog.Ask); ok {
		d.Waiting = len(q.pending) - 1
	}
}

// askerTitle names the session of an ask. The title of another session is not known yet.
func (m *model) askerTitle(a session.PendingAsk) string {
	if m.session == nil || a.SessionID != m.session.ID {
		return "another session"
	}
	return m.sessionTitle()
}

// readAsks reads the asks of all sessions of the directory that wait already.
func readAsks(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		list, _ := follow.PendingAsks(ctx, c, "") // those of the session on the screen are read with it
		return func() tea.Cmd {
			var cmds []tea.Cmd
			for _, a := range list {
				cmds = append(cmds, addAsk(m, a))
			}
			return tea.Batch(cmds...)
		}
	})
}

// removeAsk takes an ask off the screen that is answered.
func removeAsk(m *model, id session.AskID) tea.Cmd {
	i := slices.IndexFunc(m.asks.pending, func(a session.PendingAsk) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	m.asks.pending = slices.Delete(m.asks.pending, i, i+1)
	m.transcript.SetAsking(m.asks.listCalls())
	if i > 0 {
		m.asks.countWaiting()
		return nil
	}
	return showAsk(m)
}

// showAsk shows the first ask.
func showAsk(m *model) tea.Cmd {
	m.asks.later = m.asks.later && len(m.asks.pending) > 0
	if len(m.asks.pending) == 0 || m.asks.later {
		m.asks.dialog = nil
		m.asks.disarm()
		return nil
	}
	newAskDialog(m)
	m.asks.presses++
	a := m.asks.pending[0]
	return tea.Batch(m.asks.armLater(), readReason(m, a), nameAsker(m, a))
}

// postponeAsks takes the asks off the screen until they are asked for, or shows them again.
func postponeAsks(m *model) tea.Cmd {
	n := len(m.asks.pending)
	m.asks.later = !m.asks.later && n > 0
	switch {
	case n == 0:
		m.note = "no request waits"
	case m.asks.later:
		m.note = terminal.FormatPlural(n, "request") + " put off; the same key shows them again"
	}
	return showAsk(m)
}

func newAskDialog(m *model) {
	a := m.asks.pending[0]
	m.asks.disarm()
	from := ""
	if m.session == nil || a.SessionID != m.session.ID {
		from = string(a.SessionID)
	}
	if a.IsQuestion() {
		f := dialog.NewForm(a, func(x follow.Answer) tea.Cmd { return deliverAnswer(m, x) })
		f.From = from
		m.asks.dialog = f
		return
	}
	d := dialog.NewAsk(a, func(x follow.Answer) tea.Cmd { return deliverAnswer(m, x) })
	d.From, d.Waiting = from, len(m.asks.pending)-1
	d.View = func(t *dialog.Text) { m.openDialog(t) }
	m.asks.dialog = d
}

// nameAsker shows the title of the session that asks instead of its id.
func nameAsker(m *model, a session.PendingAsk) tea.Cmd {
	if m.session != nil && a.SessionID == m.session.ID {
		return nil
	}
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		s, err := c.Session(ctx, a.SessionID)
		if err != nil {
			return nil
		}
		return func() tea.Cmd {
			if len(m.asks.pending) == 0 || m.asks.pending[0].ID != a.ID {
				return nil
			}
			switch d := m.asks.dialog.(type) {
			case *dialog.Ask:
				d.From = describe.SessionTitle(s)
			case *dialog.Form:
				d.From = describe.SessionTitle(s)
			}
			return nil
		}
	})
}

// readReason reads which rule asks.
func readReason(m *model, a session.PendingAsk) tea.Cmd {
	if a.IsQuestion() {
		return nil
	}
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		v, err := c.ExplainPermission(ctx, api.PermissionQuery{
			Action: a.Action, Resources: a.Resources, Agent: a.Agent, SessionID: a.SessionID,
		})
		if err != nil {
			return nil
		}
		return func() tea.Cmd {
			if d, ok := m.asks.dialog.(*dialog.Ask); ok && d.Pending.ID == a.ID {
				d.Reason = describe.DescribeVerdict(v)
			}
			return nil
		}
	})
}

// deliverAnswer delivers an answer. If that fails, the ask is shown again.
func deliverAnswer(m *model, ans follow.Answer) tea.Cmd {
	m.asks.files.NoteAnswer(ans.Ask, ans.Reply)
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		err := follow.SendAnswer(ctx, c, ans)
		if err == nil || errors.Is(err, &session.Error{Code: session.CodeConflict}) ||
			errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return nil
		}
		return func() tea.Cmd {
			m.showError("the answer could not be sent", err)
			cmd := addAsk(m, ans.Ask)
			if d, ok := m.asks.dialog.(*dialog.Ask); ok && d.Pending.ID == ans.Ask.ID && ans.Patterns != nil {
				d.SetPatterns(ans.Patterns)
			}
			return cmd
		}
	})
}

// applyOtherEvent handles asks of other sessions than the one on the screen.
func applyOtherEvent(m *model, e session.Event) tea.Cmd {
	if m.session != nil && e.SessionID == m.session.ID {
		return nil
	}
	switch d := e.Data.(type) {
	case *session.PermissionAsked:
		return addAsk(m, d.Ask)
	case *session.PermissionReplied:
		return removeAsk(m, d.AskID)
	}
	return nil
}
