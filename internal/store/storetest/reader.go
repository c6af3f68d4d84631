package storetest

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// reader implements store.Reader over one state.
type reader struct{ s *state }

var empty home

func (r reader) home(id session.ID) *home {
	if h, ok := r.s.sessions.get(id); ok {
		return h
	}
	return &empty
}

func (r reader) Head(id session.ID) (int64, error) { return int64(len(r.home(id).events)) - 1, nil }

func (r reader) Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]store.Row, error) {
	events := r.home(id).events
	events = events[min(max(after+1, 0), int64(len(events))):]
	if len(kinds) == 0 {
		return clonedRows(events, limit), nil
	}
	var some []*store.Row
	for _, e := range events {
		if slices.Contains(kinds, e.Kind) {
			some = append(some, e)
		}
	}
	return clonedRows(some, limit), nil
}

func (r reader) Feed(after int64, limit int) ([]store.Row, error) {
	i := sort.Search(len(r.s.feed), func(i int) bool { return r.s.feed[i].Position > after })
	return clonedRows(r.s.feed[i:], limit), nil
}

func (r reader) FeedHead() (int64, error) { return r.s.position, nil }

func (r reader) Session(id session.ID) (*session.Session, bool, error) {
	row := r.home(id).row
	if row == nil {
		return nil, false, nil
	}
	s, err := decode[session.Session](row.data)
	return s, err == nil, err
}

func (r reader) Sessions(q store.SessionQuery) ([]*session.Session, error) {
	out := []*session.Session{}
	for _, row := range r.sessions(q) {
		s, err := decode[session.Session](row.data)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r reader) RawSessions(q store.SessionQuery) ([]store.RawSession, error) {
	out := []store.RawSession{}
	for _, row := range r.sessions(q) {
		out = append(out, store.RawSession{ID: row.key.ID, Created: row.key.Time.Created, Updated: row.key.Time.Updated, Data: bytes.Clone(row.data)})
	}
	return out, nil
}

func (r reader) sessions(q store.SessionQuery) []*sessionRow {
	var rows []*sessionRow
	r.s.sessions.all(func(_ session.ID, h *home) {
		if h.row != nil && selects(q, &h.row.key) {
			rows = append(rows, h.row)
		}
	})
	slices.SortFunc(rows, func(a, b *sessionRow) int { return listed(q, &a.key, &b.key) })
	return bounded(rows, q.Limit)
}

func selects(q store.SessionQuery, s *session.Session) bool {
	switch {
	case q.Directory != "" && s.Location.Directory != q.Directory,
		q.ProjectID != "" && s.ProjectID != q.ProjectID,
		q.Subpath != "" && s.Path() != q.Subpath && !strings.HasPrefix(s.Path(), q.Subpath+"/"),
		q.ParentID != nil && s.ParentID != *q.ParentID,
		!strings.Contains(strings.ToLower(s.Title), strings.ToLower(q.Search)),
		!q.Archived && s.Time.Archived != 0,
		q.Recent && (s.Time.Updated < q.Since || q.Before != 0 && s.Time.Updated >= q.Before):
		return false
	case q.After != nil:
		anchor := &session.Session{ID: q.After.ID, Time: session.SessionTime{Created: q.After.Created}}
		return listed(q, anchor, s) < 0
	default:
		return true
	}
}

// listed compares the places of a and b in the order asked for.
func listed(q store.SessionQuery, a, b *session.Session) int {
	if q.Recent {
		return cmp.Or(cmp.Compare(b.Time.Updated, a.Time.Updated), cmp.Compare(b.ID, a.ID))
	}
	c := cmp.Or(cmp.Compare(a.Time.Created, b.Time.Created), cmp.Compare(a.ID, b.ID))
	if q.Oldest {
		return c
	}
	return -c
}

func (r reader) Unfinished(limit int) ([]session.ID, error) {
	var rows []*sessionRow
	r.s.sessions.all(func(_ session.ID, h *home) {
		if h.row != nil && h.unfinished {
			rows = append(rows, h.row)
		}
	})
	slices.SortFunc(rows, func(a, b *sessionRow) int {
		return cmp.Or(cmp.Compare(a.key.Time.Updated, b.key.Time.Updated), cmp.Compare(a.key.ID, b.key.ID))
	})
	out := []session.ID{}
	for _, row := range bounded(rows, limit) {
		out = append(out, row.key.ID)
	}
	return out, nil
}

func (r reader) Message(id session.ID, m session.MessageID) (session.Message, bool, error) {
	for _, row := range r.home(id).messages {
		if row.ID == m {
			return r.opened(id, row)
		}
	}
	return nil, false, nil
}

func (r reader) opened(id session.ID, row *messageRow) (session.Message, bool, error) {
	m, err := session.DecodeMessage(row.Data)
	if err != nil {
		return nil, false, err
	}
	m.Meta().Seq = row.Seq
	if a, ok := m.(*session.Assistant); ok && row.through > 0 {
		err = store.CatchUp(r, id, a, row.through)
	}
	return m, err == nil, err
}

// messages returns the rows that q selects, in its order.
func (r reader) messages(id session.ID, q store.MessageQuery) []*messageRow {
	var rows []*messageRow
	for _, row := range r.home(id).messages {
		if row.Seq > q.After && (q.Before == 0 || row.Seq < q.Before) {
			rows = append(rows, row)
		}
	}
	if q.Newest {
		slices.Reverse(rows)
	}
	return bounded(rows, q.Limit)
}

func (r reader) Messages(id session.ID, q store.MessageQuery) ([]session.Message, error) {
	out := []session.Message{}
	for _, row := range r.messages(id, q) {
		m, _, err := r.opened(id, row)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (r reader) RawMessages(id session.ID, q store.MessageQuery) ([]store.RawMessage, error) {
	out := []store.RawMessage{}
	for _, row := range r.messages(id, q) {
		raw := row.RawMessage
		m, _, err := r.opened(id, row)
		if err != nil {
			return nil, err
		}
		if raw.Data, err = encode(m); err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

func (r reader) newest(id session.ID, match func(*messageRow) bool) (session.Message, bool, error) {
	for _, row := range slices.Backward(r.home(id).messages) {
		if match(row) {
			return r.opened(id, row)
		}
	}
	return nil, false, nil
}

func (r reader) NewestOf(id session.ID, t session.MessageType) (session.Message, bool, error) {
	return r.newest(id, func(row *messageRow) bool { return row.Type == t })
}

func (r reader) MessageOwner(m session.MessageID) (session.ID, bool, error) {
	id, ok := r.s.messages.get(m)
	return id, ok, nil
}

func (r reader) ShellByCall(id session.ID, callID string) (*session.Shell, bool, error) {
	m, ok, err := r.newest(id, func(row *messageRow) bool { return row.Type == session.TypeShell && row.callID == callID })
	sh, _ := m.(*session.Shell)
	return sh, ok, err
}

func (r reader) Input(m session.MessageID) (*session.Input, bool, error) {
	id, _ := r.s.inputs.get(m)
	for _, row := range r.home(id).inputs {
		if row.id == m {
			in, err := decode[session.Input](row.data)
			return in, err == nil, err
		}
	}
	return nil, false, nil
}

func (r reader) Pending(id session.ID, d session.Delivery, limit int) ([]*session.Input, error) {
	var rows []*inputRow
	for _, row := range r.home(id).inputs {
		if row.pending && (d == "" || row.delivery == d) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *inputRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.admitted, b.admitted), cmp.Compare(a.id, b.id))
	})
	out := []*session.Input{}
	for _, row := range bounded(rows, limit) {
		in, err := decode[session.Input](row.data)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

func (r reader) CountPending(id session.ID) (int, error) {
	n := 0
	for _, row := range r.home(id).inputs {
		if row.pending {
			n++
		}
	}
	return n, nil
}

func (r reader) Epoch(id session.ID) (*store.Epoch, bool, error) {
	e := r.home(id).epoch
	if e == nil {
		return nil, false, nil
	}
	c := *e
	c.Snapshot = cloned(e.Snapshot)
	return &c, true, nil
}

func (r reader) Ask(a session.AskID) (*store.AskRow, bool, error) {
	id, _ := r.s.asks.get(a)
	for _, row := range r.home(id).asks {
		if row.id == a {
			ask, err := decode[store.AskRow](row.data)
			return ask, err == nil, err
		}
	}
	return nil, false, nil
}

func (r reader) Asks(id session.ID, pendingOnly bool) ([]*store.AskRow, error) {
	var rows []*askRow
	collect := func(_ session.ID, h *home) {
		for _, row := range h.asks {
			if row.pending || !pendingOnly {
				rows = append(rows, row)
			}
		}
	}
	if id == "" {
		r.s.sessions.all(collect)
	} else {
		collect(id, r.home(id))
	}
	slices.SortFunc(rows, func(a, b *askRow) int {
		within := cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id))
		if id != "" {
			return within
		}
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.session, b.session), within)
	})
	out := []*store.AskRow{}
	for _, row := range rows {
		ask, err := decode[store.AskRow](row.data)
		if err != nil {
			return nil, err
		}
		out = append(out, ask)
	}
	return out, nil
}

func (r reader) Approvals(p session.ProjectID) ([]store.Approval, error) {
	out := []store.Approval{}
	for _, a := range r.s.approvals {
		if p == "" || a.ProjectID == p {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b store.Approval) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (r reader) Spent(id session.ID, since int64) ([]store.Spend, error) {
	out := []store.Spend{}
	for _, s := range r.s.spend {
		if s.Time >= since && (id == "" || s.SessionID == id) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b store.Spend) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Seq, b.Seq))
	})
	return out, nil
}
