package revert

import (
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// HideStaged returns a reader that does not have the messages that the session's staged revert hides, as if it were
// committed. A turn of which only parts go is shown whole.
func HideStaged(r store.Reader, s *session.Session) (store.Reader, error) {
	staged := s.Revert
	if staged == nil || staged.FilesOnly {
		return r, nil
	}
	m, ok, err := store.FindMessage(r, s.ID, staged.MessageID)
	if err != nil || !ok {
		return r, err
	}
	before := m.Meta().Seq
	if !staged.Exclusive {
		before++
	}
	return &hidingReader{r, s.ID, before}, nil
}

// hidingReader hides the messages of a session from a seq on.
type hidingReader struct {
	store.Reader
	session session.ID
	before  int64
}

// RawMessages implements store.MessageReader.
func (h *hidingReader) RawMessages(id session.ID, q store.MessageQuery, f func(*store.RawMessage) error) error {
	if id == h.session && (q.Before == 0 || q.Before > h.before) {
		q.Before = h.before
	}
	return h.Reader.RawMessages(id, q, f)
}
