package revert

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// revertRange is what a revert to a point takes back.
type revertRange struct {
	after    int64                      // the seq of the last message that stays, whole or in part
	message  session.MessageID          // the point's
	parts    []session.PartID           // those of the message; nil if none of them, or the whole message, is taken back
	messages []session.Message          // that are taken back whole
	ids      map[session.MessageID]bool // of messages
}

// readRange reads what a revert of the session to the point takes back. An unknown message or part is a *session.Error
// of code not-found.
func readRange(r store.Reader, id session.ID, p Point) (s revertRange, err error) {
	first, ok, err := store.FindMessage(r, id, p.MessageID)
	if err != nil {
		return s, err
	}
	if !ok {
		return s, session.NotFound("message", string(p.MessageID))
	}
	s.message, s.after, s.ids = p.MessageID, first.Meta().Seq, map[session.MessageID]bool{}
	if p.PartID != "" {
		if s.parts = partsFrom(first, p.PartID); s.parts == nil {
			return s, session.NotFound("part", string(p.PartID))
		}
	} else if p.Exclusive {
		s.after--
	}
	s.messages, err = store.ReadMessages(r, id, store.MessageQuery{After: s.after})
	for _, m := range s.messages {
		s.ids[m.Meta().ID] = true
	}
	return s, err
}

// hasCalls reports whether a call may be in the range.
func (s revertRange) hasCalls() bool {
	return len(s.parts) > 0 || slices.ContainsFunc(s.messages, func(m session.Message) bool {
		a, ok := m.(*session.Assistant)
		return ok && len(a.Tools()) > 0
	})
}

// contains reports whether the call is in the range.
func (s revertRange) contains(c changes.Call) bool {
	if c.MessageID == s.message && s.parts != nil {
		return slices.Contains(s.parts, c.PartID)
	}
	return s.ids[c.MessageID]
}
