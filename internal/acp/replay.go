package acp

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// replay sends the transcript of the session, oldest first, without what an undo hides.
func (s *liveSession) replay(ctx context.Context) error {
	found, err := s.client.Session(ctx, s.id)
	if err != nil {
		return err
	}
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := s.client.Messages(ctx, s.id, q)
		if err != nil {
			return err
		}
		for _, m := range page.Data {
			if found.Revert != nil && !found.Revert.FilesOnly && m.Meta().ID == found.Revert.MessageID {
				if !found.Revert.Exclusive {
					s.sendAll(s.items.applyMessage(m))
				}
				return nil
			}
			if m.Meta().Seq > s.head.Head { // the client gets it when it is followed
				return nil
			}
			s.sendAll(s.items.applyMessage(m))
		}
		if q.Cursor = page.Cursor.Next; q.Cursor == "" {
			break
		}
	}
	if len(found.Todos) > 0 {
		s.send(plan{found.Todos})
	}
	if found.Title != "" {
		s.send(titleChanged{found.Title})
	}
	return nil
}
