package undo

import (
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// HideStaged returns a reader without the messages that the staged revert of s hides, as if it were committed. A turn
// of which only parts are taken back is shown whole.
func HideStaged(r store.Reader, s *session.Session) (store.Reader, error) {
	if s.Revert == nil || s.Revert.FilesOnly {
		return r, nil
	}
	before, ok, err := firstHidden(r, s)
	if err != nil || !ok {
		return r, err
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
