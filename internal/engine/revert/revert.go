// Package revert takes back what a session did: it plans which files return to which state, makes that true on disk,
// and says which messages go.
//
// Only files that the session wrote are touched, and only if they are still as the session left them. What is in the
// way of that is a conflict: it is shown and stays as it is, unless the caller insists; then a copy of it is kept.
//
// A revert is staged first: the files are restored and the messages hidden. Clear brings both back; a commit, also the
// implicit one of the next prompt, removes the messages. The plan is durable before the first file is touched, so that
// a process that dies in between leaves work that the next one finishes.
package revert

import (
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Point says where a session goes back to, and what goes.
type Point struct {
	MessageID session.MessageID
	PartID    session.PartID // the first part that goes; "" for the whole message
	Exclusive bool           // the message goes as well
	Messages  bool           // the messages go
	Files     bool           // the files are restored
	Force     bool           // files that are not as the session left them are restored as well
}

// pointOf returns the point of a staged revert.
func pointOf(staged *session.Revert) Point {
	return Point{MessageID: staged.MessageID, PartID: staged.PartID, Exclusive: staged.Exclusive}
}

// revertRange is what comes after a point.
type revertRange struct {
	after    int64 // seq of the last message that stays whole
	message  session.MessageID
	parts    []session.PartID // of the point's message
	messages []session.Message
	ids      map[session.MessageID]bool // of messages
}

// readRange finds the point in the session. An unknown message or part is a *session.Error of code not-found.
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

// partsFrom returns the ids of the parts of a turn from one on; nil if the message does not have it.
func partsFrom(m session.Message, from session.PartID) (out []session.PartID) {
	a, ok := m.(*session.Assistant)
	if !ok {
		return nil
	}
	for _, c := range a.Content {
		if len(out) > 0 || c.ItemID() == from {
			out = append(out, c.ItemID())
		}
	}
	return out
}

// hasCalls reports whether a tool was called after the point.
func (s revertRange) hasCalls() bool {
	return len(s.parts) > 0 || slices.ContainsFunc(s.messages, func(m session.Message) bool {
		a, ok := m.(*session.Assistant)
		return ok && len(a.Tools()) > 0
	})
}

// contains reports whether a call is among what goes.
func (s revertRange) contains(c changes.Call) bool {
	if c.MessageID == s.message && s.parts != nil {
		return slices.Contains(s.parts, c.PartID)
	}
	return s.ids[c.MessageID]
}

// CommitFacts returns the events that commit the session's staged revert: nil without one. A revert whose files are
// being restored is a conflict.
func CommitFacts(r store.Reader, s *session.Session) (facts []session.EventData, err error) {
	staged := s.Revert
	switch {
	case staged == nil:
		return nil, nil
	case staged.Phase != session.RevertDone:
		return nil, session.Conflict("session", string(s.ID), "is restoring files; try again when that is done")
	}
	sc, err := readRange(r, s.ID, pointOf(staged))
	if missing, ok := errors.AsType[*session.Error](err); ok &&
		missing.Code == session.CodeNotFound { // it was removed meanwhile
		return []session.EventData{&session.RevertCommitted{MessageID: staged.MessageID, FilesOnly: true}}, nil
	}
	if err != nil {
		return nil, err
	}
	if staged.FilesOnly {
		return commitFiles(staged, sc), nil
	}
	for _, part := range sc.parts {
		facts = append(facts, &session.PartRemoved{TurnFact: session.OfTurn(staged.MessageID), PartID: part})
	}
	done := &session.RevertCommitted{MessageID: staged.MessageID, Exclusive: staged.Exclusive && sc.parts == nil}
	for _, m := range sc.messages {
		done.Removed = append(done.Removed, idsOf(m)...)
	}
	return append(facts, done), nil
}

// commitFiles returns the events that commit a revert of files alone. As the messages stay, and with them what is
// recorded of their calls, the restored files become changes of the last of them.
func commitFiles(staged *session.Revert, sc revertRange) []session.EventData {
	fact := &session.FilesWriting{MessageID: staged.MessageID}
	if n := len(sc.messages); n > 0 {
		fact.MessageID = sc.messages[n-1].Meta().ID
	}
	for _, f := range staged.Files {
		fact.Files = append(fact.Files, f.AsChange())
	}
	done := &session.RevertCommitted{MessageID: staged.MessageID, FilesOnly: true}
	if len(fact.Files) == 0 {
		return []session.EventData{done}
	}
	return []session.EventData{fact, done}
}

// idsOf returns the ids under which clients know a message: V1 shows some messages as two.
func idsOf(m session.Message) []session.MessageID {
	id := m.Meta().ID
	switch m := m.(type) {
	case *session.Shell:
		return []session.MessageID{id, m.AnswerID}
	case *session.Compaction:
		return []session.MessageID{m.RequestID, id}
	default:
		return []session.MessageID{id}
	}
}
