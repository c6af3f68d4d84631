package check

import "github.com/cairn-dev/cairn/internal/session"

// followTurn handles events of turns and their items.
func (w *walk) followTurn(e session.Event) {
	// A turn begins once. Some events change turns that have ended.
	switch d := e.Data.(type) {
	case *session.StepStarted:
		if w.turns[d.AssistantMessageID] != nil {
			w.report(Terminal, w.id, e.Seq, "the turn %s begins twice", d.AssistantMessageID)
		}
		w.turns[d.AssistantMessageID] = &turnState{}
		return
	case *session.RevertCommitted, *session.OutputsPruned:
		return
	}
	id := session.ChangedTurn(e.Data)
	if w.followEdit(e) || id == "" {
		return
	}
	// Everything else must lie between the beginning and the end of its turn.
	t := w.turns[id]
	switch {
	case t == nil:
		w.report(Parent, w.id, e.Seq, "%s of the turn %s, which has not begun", e.Data.Kind(), id)
		return
	case t.ended:
		w.report(Terminal, w.id, e.Seq, "%s of the turn %s, which has ended", e.Data.Kind(), id)
	}
	switch e.Data.(type) {
	case *session.StepEnded, *session.StepFailed:
		t.ended = true
		w.checkTurnEnd(e, id)
	default:
		w.followItem(e, id)
	}
}

// checkTurnEnd reports items that are open at the end of their turn.
func (w *walk) checkTurnEnd(e session.Event, id session.MessageID) {
	for part, it := range w.items {
		if it.turn != id || it.ended {
			continue
		}
		if it.kind == session.KindToolInputStarted {
			w.report(Settled, w.id, e.Seq, "the turn %s ends, but its call %s has not settled", id, part)
		} else {
			w.report(Terminal, w.id, e.Seq, "the turn %s ends, but its item %s has not", id, part)
		}
		it.ended = true // reported once
	}
	for part, it := range w.items { // only asks still need calls
		if it.turn == id && it.kind != session.KindToolInputStarted {
			delete(w.items, part)
		}
	}
}

// followItem handles an event of an item. An event of an item that has ended, or never began, is a violation.
func (w *walk) followItem(e session.Event, id session.MessageID) {
	part := partOf(e.Data)
	it := w.items[part]
	// An item begins once.
	if beginsItem(e.Data) {
		if it != nil {
			w.report(Terminal, w.id, e.Seq, "the item %s begins twice", part)
		}
		w.items[part] = &itemState{turn: id, kind: e.Data.Kind()}
		return
	}
	// It must have begun in the same turn and not have ended.
	switch {
	case it == nil || it.turn != id:
		w.report(Parent, w.id, e.Seq, "%s of the item %s, which has not begun in the turn %s", e.Data.Kind(), part, id)
		return
	case it.ended:
		w.reportAfterEnd(e, part)
		return
	}
	// What ends it, and the order of a call and its success.
	switch e.Data.(type) {
	case *session.TextEnded, *session.ReasoningEnded:
		it.ended = true
	case *session.ToolCalled:
		if it.called {
			w.report(Terminal, w.id, e.Seq, "the call %s is made twice", part)
		}
		it.called = true
	case *session.ToolSuccess:
		if !it.called {
			w.report(Parent, w.id, e.Seq, "the call %s succeeds but was not made", part)
		}
		it.ended = true
	case *session.ToolFailed:
		it.ended = true
	}
}

func (w *walk) reportAfterEnd(e session.Event, part session.PartID) {
	switch e.Data.(type) {
	case *session.ToolSuccess, *session.ToolFailed:
		w.report(Settled, w.id, e.Seq, "the call %s settles twice", part)
	default:
		w.report(Terminal, w.id, e.Seq, "%s of the item %s, which has ended", e.Data.Kind(), part)
	}
}

func beginsItem(d session.EventData) bool {
	switch d.(type) {
	case *session.TextStarted, *session.ReasoningStarted, *session.ToolInputStarted:
		return true
	default:
		return false
	}
}

// partOf returns the item of a turn's event.
func partOf(d session.EventData) session.PartID {
	switch e := d.(type) {
	case *session.TextStarted:
		return e.PartID
	case *session.TextEnded:
		return e.PartID
	case *session.ReasoningStarted:
		return e.PartID
	case *session.ReasoningEnded:
		return e.PartID
	case *session.ToolInputStarted:
		return e.PartID
	case *session.ToolInputEnded:
		return e.PartID
	case *session.ToolCalled:
		return e.PartID
	case *session.ToolProgress:
		return e.PartID
	case *session.ToolSuccess:
		return e.PartID
	case *session.ToolFailed:
		return e.PartID
	case *session.ItemCheckpointed:
		return e.PartID
	default:
		return ""
	}
}
