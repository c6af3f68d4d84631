package undo

import (
	"errors"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// CommitFacts returns the events that commit the staged revert of s, which is read from r; nil without one. While files
// are being restored it is a *session.Error of code conflict. If the point was removed meanwhile, no message is
// removed.
func CommitFacts(r store.Reader, s *session.Session) (facts []session.EventData, err error) {
	staged := s.Revert
	switch {
	case staged == nil:
		return nil, nil
	case staged.Phase != session.RevertDone:
		return nil, session.Conflict("session", string(s.ID), "is restoring files; try again when that is done")
	}
	// Read what is taken back. Without the point there is nothing to remove.
	taken, err := readRange(r, s.ID, pointOf(staged))
	if missing, ok := errors.AsType[*session.Error](err); ok && missing.Code == session.CodeNotFound {
		return []session.EventData{&session.RevertCommitted{MessageID: staged.MessageID, FilesOnly: true}}, nil
	}
	if err != nil {
		return nil, err
	}
	if staged.FilesOnly {
		return commitFiles(staged, taken), nil
	}
	// Remove the parts of the point's message, then the messages after it.
	for _, part := range taken.parts {
		facts = append(facts, &session.PartRemoved{TurnFact: session.OfTurn(staged.MessageID), PartID: part})
	}
	if taken.end != "" {
		facts = append(facts, &session.PartRemoved{TurnFact: session.OfTurn(staged.MessageID), PartID: taken.end})
	}
	done := &session.RevertCommitted{MessageID: staged.MessageID, Exclusive: staged.Exclusive && taken.parts == nil}
	for _, m := range taken.messages {
		done.Removed = append(done.Removed, idsOf(m)...)
	}
	return append(facts, done), nil
}

// commitFiles returns the events that commit a revert of files alone. The messages stay, and with them the recorded
// changes of their calls, so the restored files are recorded as further changes of the last of these messages.
func commitFiles(staged *session.Revert, taken revertRange) []session.EventData {
	fact := &session.FilesWriting{MessageID: staged.MessageID}
	if n := len(taken.messages); n > 0 {
		fact.MessageID = taken.messages[n-1].Meta().ID
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

// idsOf returns the ids under which clients know a message: V1 shows commands of the user and compactions as two
// messages.
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
