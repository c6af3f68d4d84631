package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// removeReverted removes the messages that a staged revert hides, as OpenCode does before the next turn, and clears the
// revert. The log keeps them.
func (d *drain) removeReverted(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	_, err := d.engine.journal.Log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, d.id)
		if err != nil || s.Revert == nil {
			return nil, err
		}
		facts, err := removalsAfter(tx, s)
		return eventlog.NewDrafts(append(facts, &session.RevertCleared{})...), err
	})
	return err
}

// removalsAfter returns the events that remove what the session's revert hides: the messages from the reverted one on,
// or the parts of that message from the reverted one on and the messages after it.
func removalsAfter(tx store.Tx, s *session.Session) (facts []session.EventData, err error) {
	first, ok, err := store.FindMessage(tx, s.ID, s.Revert.MessageID)
	if err != nil || !ok {
		return nil, err
	}
	after := first.Meta().Seq - 1
	if part, turn := s.Revert.PartID(), asTurn(first); part != "" && turn != nil {
		after++
		for _, c := range turn.Content {
			if len(facts) > 0 || c.ItemID() == part {
				facts = append(facts, &session.PartRemoved{TurnFact: session.OfTurn(turn.ID), PartID: c.ItemID()})
			}
		}
	}
	q := store.MessageQuery{After: after}
	if s.Import != nil { // what was added here is not part of the revert
		q.Before = int64(s.Import.Messages) + 1
	}
	ms, err := store.ReadMessages(tx, s.ID, q)
	for _, m := range ms {
		removed := &session.MessageRemoved{MessageID: m.Meta().ID}
		if sh, ok := m.(*session.Shell); ok {
			removed.AnswerID = sh.AnswerID
		}
		facts = append(facts, removed)
	}
	return facts, err
}

func asTurn(m session.Message) *session.Assistant {
	a, _ := m.(*session.Assistant)
	return a
}
