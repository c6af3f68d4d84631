package acp

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// replay sends the transcript of the session, oldest first, without what an undo hides, then its plan and its title.
//
// The session is followed from the head that was read before. What happened since then may be in the transcript
// already: the tracker notes what was sent, and leaves it out when the events come, up to the one that is the newest
// after the transcript was read.
func (s *liveSession) replay(ctx context.Context) error {
	found, err := s.client.Session(ctx, s.id)
	if err != nil {
		return err
	}
	if err := s.replayMessages(ctx, found.Revert); err != nil {
		return err
	}
	if s.replayEnd, err = s.client.Head(ctx, s.id); err != nil {
		return err
	}
	if s.replayEnd == s.head.Head {
		clear(s.items.replayed)
	}
	if len(found.Todos) > 0 {
		s.send(plan{found.Todos})
	}
	if found.Title != "" {
		s.send(titleChanged{found.Title})
	}
	return nil
}

// replayMessages sends the messages up to those that an undo hides.
func (s *liveSession) replayMessages(ctx context.Context, undo *session.Revert) error {
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := s.client.Messages(ctx, s.id, q)
		if err != nil {
			return err
		}
		for _, m := range page.Data {
			isHidden := undo != nil && !undo.FilesOnly && m.Meta().ID == undo.MessageID
			if !isHidden || !undo.Exclusive {
				s.sendAll(s.items.applyMessage(m))
			}
			if isHidden { // with all that follow
				return nil
			}
		}
		if q.Cursor = page.Cursor.Next; q.Cursor == "" {
			return nil
		}
	}
}

// isReplayed reports whether the transcript that was sent includes what an event says.
func (t *itemTracker) isReplayed(data session.EventData) bool {
	switch d := data.(type) {
	case *session.Prompted:
		return t.replayed[string(d.MessageID)]
	case *session.CompactionEnded:
		return t.replayed[string(d.MessageID)]
	case *session.TextEnded:
		return t.replayed[string(d.PartID)]
	case *session.ReasoningEnded:
		return t.replayed[string(d.PartID)]
	case *session.ToolInputStarted:
		return t.replayed[string(d.PartID)] || t.calls[d.PartID] != ""
	case *session.ToolCalled:
		return t.replayed[string(d.PartID)]
	case *session.ToolSuccess:
		return t.replayed[string(d.PartID)]
	case *session.ToolFailed:
		return t.replayed[string(d.PartID)]
	case *session.ShellStarted:
		_, isKnown := t.replayed[d.CallID]
		return isKnown
	case *session.ShellEnded:
		return t.replayed[d.CallID]
	}
	return false
}

// applyMessage returns a message of the transcript, and notes it as sent.
func (t *itemTracker) applyMessage(m session.Message) (out []update) {
	switch m := m.(type) {
	case *session.User:
		t.replayed[string(m.ID)] = true
		return []update{newUserText(string(m.ID), m.Text, m.Files)}
	case *session.Shell:
		isOver := m.Time.Completed != 0 || m.Output != "" // an imported one may have no time
		t.replayed[m.CallID] = isOver
		u := newCall(t.directory, m.CallID, "bash", quoteCommand(m.Command))
		u.isNew = true
		if out = append(out, u); isOver {
			out = append(out, endShell(m.CallID, m.Output))
		}
	case *session.Compaction:
		t.replayed[string(m.ID)] = true
		return []update{notice{title: summaryTitle}}
	case *session.Assistant:
		t.model = m.Model
		for _, c := range m.Content {
			out = append(out, t.applyItem(m, c)...)
		}
		if m.Error != nil && m.Error.Reason != session.ReasonAborted {
			// In a paragraph of its own: clients join the texts of messages.
			out = append(out, agentText{string(m.ID), "\n\n" + m.Error.Message + "\n\n"})
		}
	}
	return out
}

// applyItem returns an item of a turn of the transcript, with the outcome of a call. It notes what was sent of the
// item.
func (t *itemTracker) applyItem(m *session.Assistant, c session.Content) []update {
	switch c := c.(type) {
	case *session.Text:
		if t.noteText(m, c.PartID, c.Time, c.Text) {
			return []update{agentText{string(m.ID), c.Text}}
		}
	case *session.Reasoning:
		if t.noteText(m, c.PartID, c.Time, c.Text) {
			return []update{thought{string(m.ID), c.Text}}
		}
	case *session.Tool:
		id := string(c.PartID)
		u := newCall(t.directory, id, c.Name, c.State.Input)
		u.isNew = true
		if !c.State.Status.IsSettled() {
			t.calls[c.PartID] = c.Name
			return []update{u}
		}
		t.replayed[id] = true
		end := settledCall(id, c.Name, settlement{c.State.Title, c.State.Content, c.State.Structured})
		if c.State.Error != nil {
			end = failedCall(id, *c.State.Error)
		}
		return []update{u, end}
	}
	return nil
}

// noteText notes that a text of the transcript was sent: all of it, or, while the model writes it, its beginning. It
// reports whether there is a text.
func (t *itemTracker) noteText(m *session.Assistant, id session.PartID, at *session.ItemTime, text string) bool {
	if m.Open() && at != nil && at.Completed == 0 {
		t.sent[id] = len(text)
	} else {
		t.replayed[string(id)] = true
	}
	return text != ""
}
