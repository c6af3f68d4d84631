package v2

import (
	"context"
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// messageHandlers reads messages.
type messageHandlers struct{ *dependencies }

// messageCursor is a position in a list of messages: next to the message with the id.
type messageCursor struct {
	ID        session.MessageID `json:"id"`
	Order     string            `json:"order"`
	Direction string            `json:"direction"`
}

// encodeAt returns the cursor of the page that begins or ends at a message.
func (c messageCursor) encodeAt(m store.RawMessage, direction string) string {
	c.ID, c.Direction = m.ID, direction
	return encodeCursor(c)
}

// messageListIn is a request for a list of messages.
type messageListIn struct {
	sessionIn
	Limit  int64  `query:"limit" default:"50" min:"1" max:"200"`
	Order  string `query:"order" enum:"asc,desc"`
	Cursor string `query:"cursor"`
}

// list lists messages, page by page. It does not decode them: the stored bytes are the wire form.
func (h messageHandlers) list(
	ctx context.Context,
	in messageListIn,
) (operation.Func[api.Page[session.Message]], error) {
	c, err := in.findCursor()
	if err != nil {
		return nil, err
	}
	// A previous page is read backwards from the cursor, and then reversed.
	backwards := c.Direction == previousPage
	ms, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.RawMessage, error) {
		q, err := newMessageQuery(rd, in.SessionID, c)
		if err != nil {
			return nil, err
		}
		q.Limit, q.Newest = int(in.Limit), (c.Order == orderDesc) != backwards
		return store.ReadRawMessages(rd, in.SessionID, q)
	})
	if err != nil {
		return nil, err
	}
	if backwards {
		slices.Reverse(ms)
	}
	// The cursors are the first and the last message of the page.
	var cursor api.Cursor
	if len(ms) > 0 {
		cursor.Previous = c.encodeAt(ms[0], previousPage)
		cursor.Next = c.encodeAt(ms[len(ms)-1], nextPage)
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, joinMessages(ms, &cursor))
	}, nil
}

// findCursor returns the cursor of the request, or that of the first page of a list.
func (in messageListIn) findCursor() (messageCursor, error) {
	if in.Cursor == "" {
		return messageCursor{Order: orderOrDefault(in.Order)}, nil
	}
	c, err := decodeCursor[messageCursor](in.Cursor)
	switch {
	case err != nil:
	case in.Order != "":
		err = errCursorAndOrder
	case c.ID == "" || !isDirection(c.Direction) || !isOrder(c.Order):
		err = invalidCursor("the cursor is not from a list of messages")
	}
	return c, err
}

// newMessageQuery finds the position of the cursor. A message of another session has no position in this one.
func newMessageQuery(rd store.Reader, id session.ID, c messageCursor) (store.MessageQuery, error) {
	q := store.MessageQuery{After: -1}
	if _, err := store.FindSession(rd, id); err != nil || c.ID == "" {
		return q, err
	}
	m, ok, err := store.FindMessage(rd, id, c.ID)
	if err != nil {
		return q, err
	}
	if !ok {
		return q, invalidCursor("the cursor does not belong to this session, or its message was removed")
	}
	if (c.Order == orderAsc) == (c.Direction == nextPage) {
		q.After = m.Meta().Seq
	} else {
		q.Before = m.Meta().Seq
	}
	return q, nil
}

// joinMessages joins stored messages into a response. A nil cursor is left out.
func joinMessages(ms []store.RawMessage, c *api.Cursor) []byte {
	size := 256
	for _, m := range ms {
		size += len(m.Data) + 1
	}
	b := append(make([]byte, 0, size), `{"data":[`...)
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.Data...)
	}
	b = append(b, ']')
	if c == nil {
		return append(b, '}')
	}
	b = append(b, `,"cursor":{`...)
	if c.Next != "" { // base64url needs no escaping
		b = append(append(append(b, `"previous":"`...), c.Previous...), `","next":"`...)
		b = append(append(b, c.Next...), '"')
	}
	return append(b, "}}"...)
}

// get returns the stored bytes of one message.
func (h messageHandlers) get(ctx context.Context, in struct {
	sessionIn
	MessageID session.MessageID `path:"messageID"`
},
) (operation.Func[api.Data[session.Message]], error) {
	ms, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.RawMessage, error) {
		if _, err := store.FindSession(rd, in.SessionID); err != nil {
			return nil, err
		}
		m, ok, err := store.FindMessage(rd, in.SessionID, in.MessageID)
		if err != nil || !ok {
			return nil, err
		}
		seq := m.Meta().Seq
		return store.ReadRawMessages(rd, in.SessionID, store.MessageQuery{After: seq - 1, Before: seq + 1, Limit: 1})
	})
	if err == nil && len(ms) == 0 {
		err = session.NotFound("message", string(in.MessageID))
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		b := append(make([]byte, 0, len(ms[0].Data)+16), `{"data":`...)
		return httpio.WriteEncoded(w, http.StatusOK, append(append(b, ms[0].Data...), '}'))
	}, err
}

// listContext lists the messages that the model gets with its next request: everything since the newest compaction,
// without the system messages that the baseline of the epoch contains.
func (h messageHandlers) listContext(
	ctx context.Context,
	in sessionIn,
) (operation.Func[api.Data[[]session.Message]], error) {
	ms, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.RawMessage, error) {
		return readContext(rd, in.SessionID)
	})
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpio.WriteEncoded(w, http.StatusOK, joinMessages(ms, nil))
	}, err
}

func readContext(rd store.Reader, id session.ID) ([]store.RawMessage, error) {
	s, err := store.FindSession(rd, id)
	if err != nil {
		return nil, err
	}
	if rd, err = undo.HideStaged(rd, s); err != nil {
		return nil, err
	}
	return store.ReadVisible(rd, id)
}
