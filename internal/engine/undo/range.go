package undo

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// revertRange is the part of a session that a revert to a point takes back.
type revertRange struct {
	after    int64                      // the seq of the last message that stays, whole or in part
	message  session.MessageID          // the point's
	parts    []session.PartID           // those of the message; nil if none of them, or the whole message, is taken back
	end      session.PartID             // the end of the message with parts; "" if it has none
	messages []session.Message          // that are taken back whole
	ids      map[session.MessageID]bool // of messages
	imported int64                      // the seq of the last imported message, 0 without one
}

// readRange reads what a revert of the session to the point takes back. An unknown message or part is a *session.Error
// of code not-found.
//
// The range begins in the message of the point or after it (see Point), and ends with the session.
func readRange(r store.Reader, id session.ID, p Point) (s revertRange, err error) {
	owner, err := store.FindSession(r, id)
	if err != nil {
		return s, err
	}
	if owner.Import != nil {
		s.imported = int64(owner.Import.Messages) // they follow the event that creates the session, whose seq is 0
	}
	// Find the message of the point.
	first, ok, err := store.FindMessage(r, id, p.MessageID)
	if err != nil {
		return s, err
	}
	if !ok {
		return s, session.NotFound("message", string(p.MessageID))
	}
	// Decide what of this message is taken back: the parts from one on, the whole message, or nothing.
	s.message, s.after, s.ids = p.MessageID, first.Meta().Seq, map[session.MessageID]bool{}
	if p.PartID != "" {
		if s.parts = partsFrom(first, p.PartID); s.parts == nil {
			return s, session.NotFound("part", string(p.PartID))
		}
		if a, ok := first.(*session.Assistant); ok && !a.EndRemoved {
			s.end = a.EndID
		}
	} else if p.Exclusive {
		s.after--
	}
	// All later messages are taken back whole.
	s.messages, err = store.ReadMessages(r, id, store.MessageQuery{After: s.after})
	for _, m := range s.messages {
		s.ids[m.Meta().ID] = true
	}
	return s, err
}

// hasCalls reports whether a call, or a command of the user, may be in the messages of the range up to the seq.
func (s revertRange) hasCalls(until int64) bool {
	return len(s.parts) > 0 && s.after <= until || slices.ContainsFunc(s.messages, func(m session.Message) bool {
		switch m := m.(type) {
		case *session.Assistant:
			return m.Seq <= until && len(m.Tools()) > 0
		case *session.Shell:
			return m.Seq <= until
		}
		return false
	})
}

// contains reports whether the call is in the range.
func (s revertRange) contains(c Call) bool {
	if c.MessageID == s.message && s.parts != nil {
		return slices.Contains(s.parts, c.PartID)
	}
	return s.ids[c.MessageID]
}
