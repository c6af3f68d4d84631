package undo

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Point says from where on a revert takes back a session, and what it takes back.
type Point struct {
	MessageID session.MessageID
	PartID    session.PartID // the first part that is taken back; "" for the whole message
	Exclusive bool           // the message itself is taken back, not only what follows it
	Messages  bool           // take back messages
	Files     bool           // restore files
	Force     bool           // restore files that are not as the session left them, too

	requestID session.MessageID // as in session.Revert
}

// pointOf returns the point of a staged revert.
func pointOf(staged *session.Revert) Point {
	return Point{
		MessageID: staged.MessageID, PartID: staged.PartID, Exclusive: staged.Exclusive, requestID: staged.RequestID,
	}
}

// Target is a point as a client names it. Its Exclusive is ignored.
type Target struct {
	Point
	// Before extends the revert to the prompt that the message or part belongs to, as V1 and people expect. An empty
	// MessageID is then the newest prompt, or the newest one that a staged revert does not take back.
	Before bool
}

// findPoint returns the point of the target. An unknown message or part is a *session.Error of code not-found.
func (t Target) findPoint(r store.Reader, s *session.Session) (Point, error) {
	if !t.Before {
		p := t.Point
		p.Exclusive = false
		return p, nil
	}
	p, err := findPromptPoint(r, s, t.Point)
	if err != nil {
		return p, err
	}
	if p.MessageID == "" {
		if t.MessageID == "" && s.Revert != nil && !s.Revert.FilesOnly {
			return p, session.Errorf(session.CodeInvalid, "the session has no prompt to undo: all are taken back already")
		}
		if t.MessageID == "" {
			return p, session.Errorf(session.CodeInvalid, "the session has no prompt to undo")
		}
		return p, session.NotFound("message", string(t.MessageID))
	}
	return p, nil
}

// findPromptPoint returns the point of the prompt to which the message or part of p belongs, with the rest of p. If p
// names a part of an answer that a text or call of the same answer precedes, that part is the point instead. Without a
// prompt the MessageID of the result is "".
//
// It first determines a seq that the prompt is below, then looks for the newest prompt below it.
func findPromptPoint(r store.Reader, s *session.Session, p Point) (Point, error) {
	m, part, before := p.MessageID, p.PartID, int64(0)
	p.MessageID, p.PartID, p.Exclusive = "", "", true
	if m == "" && s.Revert != nil { // the newest prompt that the staged revert does not take back
		hidden, ok, err := firstHidden(r, s)
		if err != nil || !ok {
			return p, err
		}
		before = hidden
	} else if m != "" {
		// Find the message, and check that it has the part.
		found, err := FindMessage(r, s.ID, m)
		if err != nil || found == nil {
			return p, err
		}
		if c, ok := found.(*session.Compaction); ok { // a summary answers no prompt: it is taken back alone
			p.MessageID, p.requestID = c.ID, c.RequestID
			return p, nil
		}
		a, isTurn := found.(*session.Assistant)
		if !isTurn && part != "" && !hasPromptPart(found, part) {
			return p, session.NotFound("part", string(part))
		}
		if isTurn && part != "" {
			atEnd := part == a.EndID || part == a.EndID+"p" // V1's patch part
			if partsFrom(a, part) == nil && part != a.StartID && !atEnd {
				return p, session.NotFound("part", string(part))
			}
			if atEnd && len(a.Content) > 0 { // all of the answer stays
				p.MessageID, p.Exclusive = a.ID, false
				return p, nil
			}
			if hasEarlier(a, part) { // the answer keeps what precedes the part
				p.MessageID, p.PartID, p.Exclusive = a.ID, part, false
				return p, nil
			}
		}
		before = found.Meta().Seq + 1
	}
	// Find the prompt.
	prompt, err := newestPrompt(r, s.ID, before)
	if err == nil && prompt != nil {
		p.MessageID = prompt.Meta().ID
	}
	return p, err
}

// hasPromptPart reports whether a message that is no answer has the part.
func hasPromptPart(m session.Message, part session.PartID) bool {
	switch m := m.(type) {
	case *session.User:
		// Parts without an id have one that clients derive from the message's.
		return len(m.Parts) == 0 || slices.ContainsFunc(m.Parts, func(p session.PromptPart) bool {
			return p.ID == part || p.ID == ""
		})
	case *session.Shell:
		return part == m.PartID || part == m.NoteID
	default:
		return true
	}
}

// firstHidden returns the seq from which on the session's staged revert takes back whole messages; not ok if its
// message was removed.
func firstHidden(r store.Reader, s *session.Session) (seq int64, ok bool, err error) {
	m, ok, err := store.FindMessage(r, s.ID, s.Revert.MessageID)
	if err != nil || !ok {
		return 0, false, err
	}
	seq = m.Meta().Seq
	if !s.Revert.Exclusive {
		seq++
	}
	return seq, true, nil
}

// FindMessage returns the message with the id, nil without one. The id can be that of the answer under which V1 shows
// the output of a command of the user, or that of the prompt under which it shows the request for a summary.
func FindMessage(r store.Reader, id session.ID, m session.MessageID) (session.Message, error) {
	found, ok, err := store.FindMessage(r, id, m)
	if err != nil || ok {
		return found, err
	}
	commands, err := store.ReadMessages(r, id, store.MessageQuery{After: -1, Type: session.TypeShell})
	for _, c := range commands {
		if sh, ok := c.(*session.Shell); ok && sh.AnswerID == m {
			return sh, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c, ok, err := store.FindCompaction(r, id, m)
	if err != nil || !ok {
		return nil, err
	}
	return c, nil
}

// newestPrompt returns the newest prompt, or command of the user, with a seq below before; 0 is no bound. It is nil
// without one.
func newestPrompt(r store.Reader, id session.ID, before int64) (newest session.Message, err error) {
	for _, t := range []session.MessageType{session.TypeUser, session.TypeShell} {
		ms, err := store.ReadMessages(r, id, store.MessageQuery{After: -1, Before: before, Type: t, Newest: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(ms) > 0 && (newest == nil || ms[0].Meta().Seq > newest.Meta().Seq) {
			newest = ms[0]
		}
	}
	return newest, nil
}

// hasEarlier reports whether the turn has a text or a call before the part.
func hasEarlier(a *session.Assistant, part session.PartID) (earlier bool) {
	for _, c := range a.Content {
		if c.ItemID() == part {
			return earlier
		}
		switch c.(type) {
		case *session.Text, *session.Tool:
			earlier = true
		}
	}
	return false
}

// partsFrom returns the ids of the part of a turn and of those after it; nil if the message does not have the part.
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
