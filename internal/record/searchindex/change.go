package searchindex

import (
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// change says what of a session must be indexed again.
type change struct {
	id       session.ID
	whole    bool // everything
	purge    bool // something that people took back: its words must leave the file
	title    bool
	first    int64 // messages with a seq from first to last; first is -1 for none
	last     int64
	messages []session.MessageID // that are complete now
	calls    []string            // of shell commands that have ended
}

// collectChanges returns what the events change, one for each session, in the order of their first events.
func collectChanges(events []store.EventRow) (out []*change) {
	bySession := map[session.ID]*change{}
	for i := range events {
		e := &events[i]
		c := bySession[e.SessionID]
		if c == nil {
			c = &change{id: e.SessionID, first: -1}
			bySession[e.SessionID] = c
			out = append(out, c)
		}
		c.add(e)
	}
	return out
}

// add adds what an event changes. Only the kinds that matter are decoded.
func (c *change) add(e *store.EventRow) {
	switch e.Kind {
	case session.KindCreated, session.KindRenamed, session.KindImported:
		c.title = true
	case session.KindPrompted, session.KindMessageImported, session.KindCompactionEnded:
		c.addRange(e.Seq, e.Seq)
	case session.KindStepEnded, session.KindStepFailed, session.KindShellEnded, session.KindMessageEdited,
		session.KindPartEdited, session.KindPartRemoved, session.KindMessagesCopied:
		c.purge = c.purge || e.Kind == session.KindMessageEdited || e.Kind == session.KindPartEdited || e.Kind == session.KindPartRemoved
		d, err := session.DecodeData(e.Kind, e.Version, e.Data)
		if err != nil {
			c.whole = true
			return
		}
		c.addDecoded(d)
	case session.KindRevertCommitted, session.KindMessageRemoved, session.KindDeleted:
		c.whole, c.purge = true, true
	case session.KindCompactionUndone:
		c.whole = true
	}
}

func (c *change) addDecoded(d session.EventData) {
	switch d := d.(type) {
	case *session.ShellEnded:
		c.calls = append(c.calls, d.CallID)
	case *session.MessageEdited:
		c.messages = append(c.messages, d.MessageID)
	case *session.MessagesCopied:
		c.addRange(d.First, d.First+int64(len(d.Messages))-1)
	case session.TurnEvent:
		c.messages = append(c.messages, d.Turn().AssistantMessageID)
	}
}

func (c *change) addRange(first, last int64) {
	if c.first < 0 {
		c.first, c.last = first, last
	}
	c.first, c.last = min(c.first, first), max(c.last, last)
}
