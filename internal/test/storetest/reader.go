package storetest

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// reader implements store.Reader over one state.
type reader struct{ s *state }

var empty home

func (r reader) homeOf(id session.ID) *home {
	if h, ok := r.s.sessions.get(id); ok {
		return h
	}
	return &empty
}

func (r reader) Head(id session.ID) (int64, error) {
	if id == "" {
		return r.s.position, nil
	}
	return r.homeOf(id).findHead(), nil
}

func (r reader) Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]store.EventRow, error) {
	var events []*store.EventRow
	if id == "" {
		events = r.s.feed[sort.Search(len(r.s.feed), func(i int) bool { return r.s.feed[i].Position > after }):]
	} else {
		events = r.homeOf(id).events
		events = events[sort.Search(len(events), func(i int) bool { return events[i].Seq > after }):]
	}
	if len(kinds) == 0 {
		return cloneRows(events, limit), nil
	}
	var some []*store.EventRow
	for _, e := range events {
		if slices.Contains(kinds, e.Kind) {
			some = append(some, e)
		}
	}
	return cloneRows(some, limit), nil
}

func (r reader) Session(id session.ID) (*session.Session, bool, error) {
	row := r.homeOf(id).row
	if row == nil {
		return nil, false, nil
	}
	s, err := row.raw().Session()
	return s, err == nil, err
}

func (r reader) RawSessions(q store.SessionQuery) ([]store.RawSession, error) {
	out := []store.RawSession{}
	for _, row := range r.selectSessions(q) {
		out = append(out, row.raw())
	}
	return out, nil
}

func (r reader) selectSessions(q store.SessionQuery) []*sessionRow {
	var rows []*sessionRow
	below := r.findDescendants(q.Ancestor)
	r.s.sessions.forEach(func(id session.ID, h *home) {
		if h.row != nil && r.isSelected(q, h.row) && (q.Ancestor == "" || below[id]) {
			rows = append(rows, h.row)
		}
	})
	slices.SortFunc(rows, func(a, b *sessionRow) int { return compareListed(q, &a.key, &b.key) })
	return truncate(rows, q.Limit)
}

// findDescendants returns the sessions at any depth below one; nil for "".
func (r reader) findDescendants(id session.ID) map[session.ID]bool {
	if id == "" {
		return nil
	}
	below := map[session.ID]bool{}
	for grown := true; grown; {
		before := len(below)
		r.s.sessions.forEach(func(child session.ID, h *home) {
			if h.row != nil && (h.row.key.ParentID == id || below[h.row.key.ParentID]) {
				below[child] = true
			}
		})
		grown = len(below) > before
	}
	return below
}

func (r reader) isSelected(q store.SessionQuery, row *sessionRow) bool {
	s := &row.key
	switch {
	case q.Directory != "" && s.Location.Directory != q.Directory && !isMoved(q.Moved, row),
		q.ProjectID != "" && s.ProjectID != q.ProjectID,
		q.RecordID != "" && row.record != q.RecordID && !r.isBefore(q, row),
		q.Subpath != "" && s.Path() != q.Subpath && !strings.HasPrefix(s.Path(), q.Subpath+"/"),
		q.ParentID != nil && s.ParentID != *q.ParentID,
		!strings.Contains(strings.ToLower(s.Title), strings.ToLower(q.Search)),
		!q.Archived && s.Time.Archived != 0,
		!hasTags(s, q.Tag),
		q.Ephemeral && !s.Ephemeral,
		q.Recent && (s.Time.Updated < q.Since || q.Before != 0 && s.Time.Updated >= q.Before):
		return false
	case q.After != nil:
		anchor := &session.Session{ID: q.After.ID, Time: session.SessionTime{Created: q.After.Created}}
		return compareListed(q, anchor, s) < 0
	default:
		return true
	}
}

// hasTags reports whether the session has all tags of a list that is separated by commas.
func hasTags(s *session.Session, list string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if list != "" && !slices.Contains(s.Tags, tag) {
			return false
		}
	}
	return true
}

// isMoved reports whether the session is one that m selects.
func isMoved(m *store.Moved, row *sessionRow) bool {
	return m != nil && row.record == m.RecordID && slices.Contains(m.Directories, row.key.Location.Directory)
}

// isBefore reports whether the session is one of "global" within the directory of q, and not of another repository.
func (r reader) isBefore(q store.SessionQuery, row *sessionRow) bool {
	return q.Within != "" && !q.Recent && row.key.ProjectID == "global" && isWithin(&row.key, q.Within) &&
		!slices.ContainsFunc(r.s.projects, func(p store.Project) bool { return p.ID == row.record && p.Common != "" })
}

func isWithin(s *session.Session, dir string) bool {
	return s.Location.Directory == dir || strings.HasPrefix(s.Location.Directory, strings.TrimSuffix(dir, "/")+"/")
}

func (r reader) Projects(q store.ProjectQuery) ([]store.Project, error) {
	out := []store.Project{}
	for _, p := range r.s.projects {
		if q == (store.ProjectQuery{}) || p.ID == q.ID || p.Common != "" && p.Common == q.Common || p.Path == q.Path ||
			p.File != "" && p.File == q.File {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b store.Project) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return truncate(out, store.MaxProjects), nil
}

func (r reader) CountElsewhere(p store.Project) (n int, err error) {
	others := map[session.RecordID]bool{}
	for _, other := range r.s.projects {
		others[other.ID] = other.ID != p.ID && (p.Root != "" && other.Root == p.Root || other.Path == p.Path)
	}
	r.s.sessions.forEach(func(_ session.ID, h *home) {
		if h.row == nil || h.row.key.ParentID != "" || h.row.key.Time.Archived != 0 || n == store.MaxElsewhere {
			return
		}
		id := h.row.key.ProjectID
		named := id != "" && id != "global" && (id == p.ProjectID || string(id) == p.Root)
		if others[h.row.record] || h.row.record == "" && named {
			n++
		}
	})
	return n, nil
}

// compareListed compares the positions of a and b in the order of the query.
func compareListed(q store.SessionQuery, a, b *session.Session) int {
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
	r.s.sessions.forEach(func(_ session.ID, h *home) {
		if h.row != nil && h.unfinished {
			rows = append(rows, h.row)
		}
	})
	slices.SortFunc(rows, func(a, b *sessionRow) int {
		return cmp.Or(cmp.Compare(a.key.Time.Updated, b.key.Time.Updated), cmp.Compare(a.key.ID, b.key.ID))
	})
	out := []session.ID{}
	for _, row := range truncate(rows, limit) {
		out = append(out, row.key.ID)
	}
	return out, nil
}

func (r reader) Message(m session.MessageID) (session.ID, session.Message, error) {
	id, _ := r.s.messages.get(m)
	for _, row := range r.homeOf(id).messages {
		if row.ID == m {
			found, err := r.decodeRow(id, row)
			return id, found, err
		}
	}
	return "", nil, nil
}

func (r reader) decodeRow(id session.ID, row *messageRow) (session.Message, error) {
	m, err := session.DecodeMessage(row.Data)
	if err != nil {
		return nil, err
	}
	m.Meta().Seq = row.Seq
	if a, ok := m.(*session.Assistant); ok && row.through > 0 {
		err = store.ApplyCheckpoints(r, id, a, row.through)
	}
	return m, err
}

// selectMessages returns the rows that q selects, in its order.
func (r reader) selectMessages(id session.ID, q store.MessageQuery) []*messageRow {
	var rows []*messageRow
	for _, row := range r.homeOf(id).messages {
		of := (q.Type == "" || row.Type == q.Type) && (q.CallID == "" || row.callID == q.CallID)
		if of && row.Seq > q.After && (q.Before == 0 || row.Seq < q.Before) {
			rows = append(rows, row)
		}
	}
	if q.Newest {
		slices.Reverse(rows)
	}
	return truncate(rows, q.Limit)
}

func (r reader) RawMessages(id session.ID, q store.MessageQuery, f func(*store.RawMessage) error) error {
	for _, row := range r.selectMessages(id, q) {
		m, err := r.decodeRow(id, row)
		if err != nil {
			return err
		}
		raw := row.RawMessage
		if raw.Data, err = encode(m); err != nil {
			return err
		}
		if err := f(&raw); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) Inputs(q store.InputQuery) ([]*session.Input, error) {
	id := q.SessionID
	if q.ID != "" {
		id, _ = r.s.inputs.get(q.ID)
	}
	var rows []*inputRow
	for _, row := range r.homeOf(id).inputs {
		of := row.pending && (q.Delivery == "" || row.delivery == q.Delivery)
		if row.id == q.ID || q.ID == "" && of {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *inputRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.admitted, b.admitted), cmp.Compare(a.id, b.id))
	})
	out := []*session.Input{}
	for _, row := range truncate(rows, q.Limit) {
		in, err := decode[session.Input](row.data)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

func (r reader) Epoch(id session.ID) (*store.Epoch, bool, error) {
	e := r.homeOf(id).epoch
	if e == nil {
		return nil, false, nil
	}
	c := *e
	c.Snapshot = cloneBytes(e.Snapshot)
	return &c, true, nil
}

func (r reader) Asks(q store.AskQuery) ([]*store.AskRow, error) {
	// Collect from the session of the id, the one in the query, or all.
	var rows []*askRow
	collect := func(_ session.ID, h *home) {
		for _, row := range h.asks {
			if row.id == q.ID || q.ID == "" && (row.pending || !q.Pending) {
				rows = append(rows, row)
			}
		}
	}
	id := q.SessionID
	if q.ID != "" {
		id, _ = r.s.asks.get(q.ID)
	}
	if id == "" && q.ID == "" {
		r.s.sessions.forEach(collect)
	} else {
		collect(id, r.homeOf(id))
	}
	// Sort one session's by seq. Seqs of several sessions are not comparable, so time comes first.
	slices.SortFunc(rows, func(a, b *askRow) int {
		within := cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id))
		if id != "" {
			return within
		}
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.session, b.session), within)
	})
	// Decode, so that callers get copies.
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

func (r reader) Approvals(id session.RecordID) ([]store.Approval, error) {
	out := []store.Approval{}
	for _, a := range r.s.approvals {
		if id == "" || a.RecordID == id {
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
