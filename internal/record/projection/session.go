package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

func applySession(b *Batch, e session.Event) error {
	if _, ok := e.Data.(*session.Created); !ok && !touchesSession(e.Data) {
		return nil
	}
	s, err := b.loadSession(e.SessionID)
	if err != nil {
		return err
	}
	created, first := e.Data.(*session.Created)
	switch {
	case first && s != nil:
		return session.Conflict("session", string(e.SessionID), "exists already")
	case first:
		return createSession(b, e, created)
	case s == nil:
		return session.NotFound("session", string(e.SessionID))
	}
	b.row.changed = s.Apply(e.Data) || b.row.changed
	return nil
}

// createSession writes the row at once, because other rows and the mark of unfinished sessions refer to it. The batch
// holds it for the events that follow.
func createSession(b *Batch, e session.Event, created *session.Created) error {
	if created.Info.ID != e.SessionID {
		return fmt.Errorf("the event creates session %s", created.Info.ID)
	}
	s := &session.Session{}
	if !s.Apply(created) {
		return nil
	}
	b.row = cachedSession{session: s}
	return b.tx.PutSession(s)
}

// touchesSession reports whether the event may change the session's row. It spares the frequent events of a turn a
// useless read.
func touchesSession(d session.EventData) bool {
	switch d.(type) {
	case *session.TextStarted, *session.TextEnded, *session.ReasoningStarted, *session.ReasoningEnded,
		*session.ToolInputStarted, *session.ToolInputEnded, *session.ToolCalled, *session.ToolProgress,
		*session.ToolSuccess, *session.ToolFailed, *session.ItemCheckpointed, *session.MessageImported,
		*session.MessagesCopied, *session.Unknown:
		return false
	default:
		return true
	}
}
