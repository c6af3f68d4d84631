package v2

import (
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// messageCursor is a place in a list of messages, beside the message with the id.
type messageCursor struct {
	ID        session.MessageID `json:"id"`
	Order     string            `json:"order"`
	Direction string            `json:"direction"`
}

func (c messageCursor) at(m store.RawMessage, direction string) string {
	c.ID, c.Direction = m.ID, direction
	return encodeCursor(c)
}

// messages passes the stored bytes on unread: they are the wire form.
func (a *API) messages(w http.ResponseWriter, r *http.Request) error {
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: defaultPage, Min: 1, Max: maxMessages})
	if err != nil {
		return err
	}
	c, err := messageList(r)
	if err != nil {
		return err
	}
	back := c.Direction == previous
	ms, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawMessage, error) {
		q, err := messageQuery(rd, sessionOf(r), c)
		if err != nil {
			return nil, err
		}
		q.Limit, q.Newest = int(limit), (c.Order == "desc") != back
		return store.ReadRawMessages(rd, sessionOf(r), q)
	})
	if err != nil {
		return err
	}
	if back {
		slices.Reverse(ms)
	}
	var cursor api.Cursor
	if len(ms) > 0 {
		cursor = api.Cursor{Previous: c.at(ms[0], previous), Next: c.at(ms[len(ms)-1], next)}
	}
	return httpio.WriteJSON(w, http.StatusOK, messagePage(ms, &cursor))
}

// messageList reads the cursor, or the order of a list's first page.
func messageList(r *http.Request) (messageCursor, error) {
	order, err := httpio.ReadChoice(r, "order", "asc", "desc")
	if err != nil {
		return messageCursor{}, err
	}
	if s := r.URL.Query().Get("cursor"); s != "" {
		c, err := decodeCursor[messageCursor](s)
		switch {
		case err != nil:
		case order != "":
			err = badCursor("cursor and order cannot be given together; the cursor holds the order")
		case c.ID == "" || (c.Direction != next && c.Direction != previous) || (c.Order != "asc" && c.Order != "desc"):
			err = badCursor("the cursor is not one of a list of messages")
		}
		return c, err
	}
	if order == "" {
		order = "desc"
	}
	return messageCursor{Order: order}, nil
}

// messageQuery finds the place of the cursor. A message of another session, or none, is no place of this one.
func messageQuery(rd store.Reader, id session.ID, c messageCursor) (store.MessageQuery, error) {
	q := store.MessageQuery{After: -1}
	if _, err := mustSession(rd, id); err != nil || c.ID == "" {
		return q, err
	}
	m, ok, err := store.FindMessage(rd, id, c.ID)
	if err != nil {
		return q, err
	}
	if !ok {
		return q, badCursor("the cursor does not belong to this session, or its message is gone")
	}
	if (c.Order == "asc") == (c.Direction == next) {
		q.After = m.Meta().Seq
	} else {
		q.Before = m.Meta().Seq
	}
	return q, nil
}

// messagePage joins stored messages into an answer; a nil cursor leaves that out.
func messagePage(ms []store.RawMessage, c *api.Cursor) []byte {
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
	if c.Next != "" { // base64url needs no escape
		b = append(append(append(b, `"previous":"`...), c.Previous...), `","next":"`...)
		b = append(append(b, c.Next...), '"')
	}
	return append(b, "}}"...)
}

func (a *API) message(w http.ResponseWriter, r *http.Request) error {
	id, want := sessionOf(r), messageOf(r)
	ms, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawMessage, error) {
		if _, err := mustSession(rd, id); err != nil {
			return nil, err
		}
		m, ok, err := store.FindMessage(rd, id, want)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, session.NotFound("message", string(want))
		}
		seq := m.Meta().Seq
		return store.ReadRawMessages(rd, id, store.MessageQuery{After: seq - 1, Before: seq + 1, Limit: 1})
	})
	if err != nil {
		return err
	}
	if len(ms) == 0 {
		return session.NotFound("message", string(want))
	}
	b := append(make([]byte, 0, len(ms[0].Data)+16), `{"data":`...)
	return httpio.WriteJSON(w, http.StatusOK, append(append(b, ms[0].Data...), '}'))
}

// context shows what the model is shown next: everything since the newest compaction, without the system messages that
// the epoch's baseline contains (spec/v2 §12).
func (a *API) context(w http.ResponseWriter, r *http.Request) error {
	ms, err := view(r.Context(), a, func(rd store.Reader) ([]store.RawMessage, error) { return visible(rd, sessionOf(r)) })
	if err != nil {
		return err
	}
	return httpio.WriteJSON(w, http.StatusOK, messagePage(ms, nil))
}

func visible(rd store.Reader, id session.ID) ([]store.RawMessage, error) {
	if _, err := mustSession(rd, id); err != nil {
		return nil, err
	}
	shown := store.VisibleRange{Compaction: -1, Baseline: -1}
	if c, ok, err := store.NewestMessage(rd, id, session.TypeCompaction); err != nil {
		return nil, err
	} else if ok {
		shown.Compaction = c.Meta().Seq
	}
	if e, ok, err := rd.Epoch(id); err != nil {
		return nil, err
	} else if ok {
		shown.Baseline = e.BaselineSeq
	}
	ms, err := store.ReadRawMessages(rd, id, store.MessageQuery{After: shown.After()})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ms, func(m store.RawMessage) bool { return !shown.Contains(m.Type, m.Seq) }), nil
}
