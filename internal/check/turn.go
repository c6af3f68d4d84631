package check

import "github.com/cairn-dev/cairn/internal/session"

// turn follows the turns and their items.
func (w *walk) turn(e session.Event) {
	switch d := e.Data.(type) {
	case *session.StepStarted:
		if w.turns[d.AssistantMessageID] != nil {
			w.found(Terminal, w.id, e.Seq, "the turn %s begins twice", d.AssistantMessageID)
		}
		w.turns[d.AssistantMessageID] = &turn{}
		return
	case *session.RevertCommitted:
		return
	}
	id := session.ChangedTurn(e.Data)
	if w.edit(e) || id == "" {
		return
	}
	t := w.turns[id]
	switch {
	case t == nil:
		w.found(Parent, w.id, e.Seq, "%s of the turn %s, which has not begun", e.Data.Kind(), id)
		return
	case t.over:
		w.found(Terminal, w.id, e.Seq, "%s of the turn %s, which has ended", e.Data.Kind(), id)
	}
	switch e.Data.(type) {
	case *session.StepEnded, *session.StepFailed:
		t.over = true
		w.closed(e, id)
	default:
		w.item(e, id)
	}
}

// closed finds what the end of a turn leaves open.
func (w *walk) closed(e session.Event, id session.MessageID) {
	for part, it := range w.items {
		if it.turn != id || it.over {
			continue
		}
		if it.kind == session.KindToolInputStarted {
			w.found(Settled, w.id, e.Seq, "the turn %s ends, but its call %s has not settled", id, part)
		} else {
			w.found(Terminal, w.id, e.Seq, "the turn %s ends, but its item %s has not", id, part)
		}
		it.over = true // said once
	}
	for part, it := range w.items { // what is behind us is of no more use, except to asks
		if it.turn == id && it.kind != session.KindToolInputStarted {
			delete(w.items, part)
		}
	}
}

// item follows one item. What is said of an item that has ended, or never began, is a violation.
func (w *walk) item(e session.Event, id session.MessageID) {
	part := partOf(e.Data)
	it := w.items[part]
	if begins(e.Data) {
		if it != nil {
			w.found(Terminal, w.id, e.Seq, "the item %s begins twice", part)
		}
		w.items[part] = &item{turn: id, kind: e.Data.Kind()}
		return
	}
	switch {
	case it == nil || it.turn != id:
		w.found(Parent, w.id, e.Seq, "%s of the item %s, which has not begun in the turn %s", e.Data.Kind(), part, id)
		return
	case it.over:
		w.over(e, part)
		return
	}
	switch e.Data.(type) {
	case *session.TextEnded, *session.ReasoningEnded:
		it.over = true
	case *session.ToolCalled:
		if it.called {
			w.found(Terminal, w.id, e.Seq, "the call %s is made twice", part)
		}
		it.called = true
	case *session.ToolSuccess:
		if !it.called {
			w.found(Parent, w.id, e.Seq, "the call %s succeeds, but was not made", part)
		}
		it.over = true
	case *session.ToolFailed:
		it.over = true
	}
}

func (w *walk) over(e session.Event, part session.PartID) {
	switch e.Data.(type) {
	case *session.ToolSuccess, *session.ToolFailed:
		w.found(Settled, w.id, e.Seq, "the call %s settles twice", part)
	default:
		w.found(Terminal, w.id, e.Seq, "%s of the item %s, which has ended", e.Data.Kind(), part)
	}
}

func begins(d session.EventData) bool {
	switch d.(type) {
	case *session.TextStarted, *session.ReasoningStarted, *session.ToolInputStarted:
		return true
	default:
		return false
	}
}

// partOf returns the item that an event of a turn is about.
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
