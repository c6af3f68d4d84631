package check

import (
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// followEdit handles edits of messages and reports whether the event is one: the message must exist and have ended,
// and have the item that the event names.
func (w *walk) followEdit(e session.Event) bool {
	switch d := e.Data.(type) {
	case *session.MessageRemoved:
		w.checkEditable(e, d.MessageID, "")
	case *session.MessageEdited:
		w.checkEditable(e, d.MessageID, "")
	case *session.PartRemoved:
		w.checkEditable(e, d.AssistantMessageID, d.PartID)
	case *session.PartEdited:
		w.checkEditable(e, d.AssistantMessageID, d.PartID)
	default:
		return false
	}
	return true
}

func (w *walk) checkEditable(e session.Event, m session.MessageID, part session.PartID) {
	found, ok, err := store.FindMessage(w.fold, w.id, m)
	a, turn := found.(*session.Assistant)
	switch {
	case !ok || err != nil:
		w.report(Parent, w.id, e.Seq, "%s of the message %s, which does not exist", e.Data.Kind(), m)
	case turn && a.Open():
		w.report(Terminal, w.id, e.Seq, "%s of the turn %s, which has not ended", e.Data.Kind(), m)
	case part != "" && (!turn || a.Item(part) == nil && part != a.EndID):
		w.report(Parent, w.id, e.Seq, "%s of the item %s, which the turn %s does not have", e.Data.Kind(), part, m)
	}
}
