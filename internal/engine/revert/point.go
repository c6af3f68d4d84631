package revert

import (
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Target is a point as a client names it.
type Target struct {
	Point
	// Before goes back to before the prompt that the message or part belongs to, as V1 and people do. An empty message
	// is the newest prompt, or the one before the staged revert.
	Before bool
}

// findPromptPoint finds the point of the target. An unknown message or part is a *session.Error of code not-found.
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
		if t.MessageID == "" {
			return p, session.Errorf(session.CodeInvalid, "the session has no prompt to undo")
		}
		return p, session.NotFound("message", string(t.MessageID))
	}
	return p, nil
}

// findPromptPoint returns the point that takes back a part of a message, or a message, with the prompt that it answers,
// unless something of the same answer stays before the part. Its message is empty if the session has none such.
func findPromptPoint(r store.Reader, s *session.Session, p Point) (Point, error) {
	m, part, before := p.MessageID, p.PartID, int64(0)
	p.MessageID, p.PartID, p.Exclusive = "", "", true
	if m == "" && s.Revert != nil {
		m, part = s.Revert.MessageID, ""
		at, ok, err := store.FindMessage(r, s.ID, m)
		if err != nil || !ok {
			return p, err
		}
		before = at.Meta().Seq
		if !s.Revert.Exclusive { // the prompt itself stayed
			before++
		}
	} else if m != "" {
		found, err := FindMessage(r, s.ID, m)
		if err != nil || found == nil {
			return p, err
		}
		if a, isTurn := found.(*session.Assistant); isTurn && part != "" {
			if partsFrom(a, part) == nil && part != a.StartID && part != a.EndID {
				return p, session.NotFound("part", string(part))
			}
			if hasEarlier(a, part) {
				p.MessageID, p.PartID, p.Exclusive = a.ID, part, false
				return p, nil
			}
		}
		before = found.Meta().Seq + 1
	}
	asked, err := newestPrompt(r, s.ID, before)
	if err == nil && asked != nil {
		p.MessageID = asked.Meta().ID
	}
	return p, err
}

// FindMessage returns the message with the id, which V1 may show as the second one of a command; nil without one.
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
	return nil, err
}

// newestPrompt returns the newest prompt or command of the user with a seq below before, 0 for any; nil without one.
func newestPrompt(r store.Reader, id session.ID, before int64) (newest session.Message, err error) {
	for _, t := range []session.MessageType{session.TypeUser, session.TypeShell} {
		ms, err := store.ReadMessages(
			r,
			id,
			store.MessageQuery{After: -1, Before: before, Type: t, Newest: true, Limit: 1},
		)
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
