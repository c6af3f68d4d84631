package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// tx implements store.Tx on a fork of the committed state.
type tx struct {
	reader
	own map[session.ID]*home // homes that this transaction copied and may change
}

func newTx(base *state) *tx {
	return &tx{reader{base.fork()}, map[session.ID]*home{}}
}

// editHome returns the session's data for changing. Its slices are still shared: they may be appended to, not
// written.
func (t *tx) editHome(id session.ID) *home {
	if h := t.own[id]; h != nil {
		return h
	}
	h := *t.homeOf(id)
	t.own[id] = &h
	t.s.sessions.put(id, &h)
	return &h
}

func (t *tx) InsertEvent(r store.EventRow) (int64, error) {
	if r.Kind.OutlivesSession() {
		return t.addToFeed(r).Position, nil
	}
	h := t.editHome(r.SessionID)
	if head := h.findHead(); r.Seq != head+1 && !(head < 0 && r.Kind == session.KindCreated) {
		return 0, fmt.Errorf("insert event %s: seq is %d, must be %d", r.ID, r.Seq, head+1)
	}
	row := t.addToFeed(r)
	h.events = append(h.events, row)
	return row.Position, nil
}

// addToFeed gives the row the next position.
func (t *tx) addToFeed(r store.EventRow) *store.EventRow {
	row := cloneRow(&r)
	t.s.position++
	row.Position = t.s.position
	t.s.feed = append(t.s.feed, &row)
	return &row
}

func (t *tx) PutSession(s *session.Session) error {
	data, err := encode(s)
	if err != nil {
		return fmt.Errorf("put session %s: %w", s.ID, err)
	}
	h := t.editHome(s.ID)
	record := s.RecordID
	if !slices.ContainsFunc(t.s.projects, func(p store.Project) bool { return p.ID == record }) {
		if record = ""; h.row != nil {
			record = h.row.record
		}
	}
	h.row = &sessionRow{key: *s, record: record, data: data}
	return nil
}

func (t *tx) DeleteSession(id session.ID) error {
	h := t.homeOf(id)
	for _, m := range h.messages {
		t.s.messages.remove(m.ID)
	}
	for _, in := range h.inputs {
		t.s.inputs.remove(in.id)
	}
	for _, a := range h.asks {
		t.s.asks.remove(a.id)
	}
	if len(h.events) > 0 {
		t.s.feed = withoutRows(
			t.s.feed, func(r *store.EventRow) bool { return r.SessionID == id && slices.Contains(h.events, r) },
		)
	}
	t.s.approvals = withoutRows(t.s.approvals, func(a store.Approval) bool { return a.Holder == string(id) })
	t.s.sessions.remove(id)
	delete(t.own, id)
	return nil
}

func (t *tx) SetUnfinished(id session.ID, unfinished bool) error {
	if t.homeOf(id).row != nil {
		t.editHome(id).unfinished = unfinished
	}
	return nil
}

func (t *tx) PutMessage(id session.ID, m session.Message, stored jsontext.Value, through int64) error {
	// Check what a database would check by its keys and by the given encoding.
	head := m.Meta()
	if owner, used := t.s.messages.get(head.ID); used && owner != id {
		return session.Conflict("message", string(head.ID), "is used by another session")
	}
	data, err := session.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if stored != nil && !bytes.Equal(stored, data) {
		return fmt.Errorf("put message %s: its stored form is %s, not %s", head.ID, data, stored)
	}
	// Make the row, with the columns that queries look at.
	row := &messageRow{
		RawMessage: store.RawMessage{ID: head.ID, Seq: head.Seq, Type: head.Type, Data: data},
		through:    store.CheckpointSeq(m, through),
	}
	if sh, ok := m.(*session.Shell); ok {
		row.callID = sh.CallID
	}
	// Insert or replace by seq. Slices are cloned before a write, because earlier snapshots share them.
	h := t.editHome(id)
	i, found := slices.BinarySearchFunc(
		h.messages, row, func(a, b *messageRow) int { return cmp.Compare(a.Seq, b.Seq) },
	)
	_, used := t.s.messages.get(head.ID)
	switch {
	case found && (h.messages[i].ID != row.ID || h.messages[i].Type != row.Type), !found && used:
		return fmt.Errorf("put message %s: seq %d or type %s is not that of the stored message", row.ID, row.Seq, row.Type)
	case found:
		h.messages = slices.Clone(h.messages)
		h.messages[i] = row
	case i == len(h.messages):
		h.messages = append(h.messages, row)
	default:
		h.messages = slices.Insert(slices.Clone(h.messages), i, row)
	}
	t.s.messages.put(head.ID, id)
	return nil
}

func (t *tx) DeleteMessages(id session.ID, after, before int64) error {
	h := t.editHome(id)
	keep := []*messageRow{}
	for _, m := range h.messages {
		if m.Seq > after && (before == 0 || m.Seq < before) {
			t.s.messages.remove(m.ID)
		} else {
			keep = append(keep, m)
		}
	}
	h.messages = keep
	return nil
}

func (t *tx) PutInput(in *session.Input) error {
	if owner, used := t.s.inputs.get(in.ID); used && owner != in.SessionID {
		return session.Conflict("input", string(in.ID), "is used by another session")
	}
	data, err := encode(in)
	if err != nil {
		return fmt.Errorf("put input %s: %w", in.ID, err)
	}
	h := t.editHome(in.SessionID)
	h.inputs = append(withoutRows(h.inputs, func(r *inputRow) bool { return r.id == in.ID }), &inputRow{
		id: in.ID, delivery: in.Delivery, order: in.Order, admitted: in.AdmittedSeq, pending: in.PromotedSeq == nil,
		data: data,
	})
	t.s.inputs.put(in.ID, in.SessionID)
	return nil
}

func (t *tx) DeleteInput(m session.MessageID) error {
	id, used := t.s.inputs.get(m)
	if !used {
		return nil
	}
	h := t.editHome(id)
	h.inputs = withoutRows(h.inputs, func(r *inputRow) bool { return r.id == m })
	t.s.inputs.remove(m)
	return nil
}

func (t *tx) PutEpoch(id session.ID, e *store.Epoch) error {
	h := t.editHome(id)
	if h.epoch = nil; e != nil {
		c := *e
		c.Snapshot = cloneBytes(e.Snapshot)
		h.epoch = &c
	}
	return nil
}

func (t *tx) PutAsk(a *store.AskRow) error {
	if owner, used := t.s.asks.get(a.ID); used && owner != a.SessionID {
		return session.Conflict("ask", string(a.ID), "is used by another session")
	}
	data, err := encode(a)
	if err != nil {
		return fmt.Errorf("put ask %s: %w", a.ID, err)
	}
	h := t.editHome(a.SessionID)
	h.asks = append(withoutRows(h.asks, func(r *askRow) bool { return r.id == a.ID }), &askRow{
		id: a.ID, session: a.SessionID, time: a.Time, seq: a.Seq, pending: a.Reply == "", data: data,
	})
	t.s.asks.put(a.ID, a.SessionID)
	return nil
}

func (t *tx) PutApproval(a store.Approval) error {
	equal := func(b store.Approval) bool {
		b.ID, b.Time = a.ID, a.Time
		return a == b
	}
	if slices.ContainsFunc(t.s.approvals, equal) {
		return nil
	}
	if slices.ContainsFunc(t.s.approvals, func(b store.Approval) bool { return b.ID == a.ID }) {
		return session.Conflict("approval", a.ID, "exists for something else")
	}
	t.s.approvals = append(t.s.approvals, a)
	return nil
}

func (t *tx) DeleteApproval(id string) (bool, error) {
	n := len(t.s.approvals)
	t.s.approvals = withoutRows(t.s.approvals, func(a store.Approval) bool { return a.ID == id })
	return len(t.s.approvals) < n, nil
}

func (t *tx) AddSpend(s store.Spend) error {
	for _, b := range t.s.spend {
		if b.SessionID == s.SessionID && b.Seq == s.Seq {
			return nil
		}
	}
	t.s.spend = append(t.s.spend, s)
	return nil
}

func (t *tx) PutProject(p store.Project) error {
	t.s.projects = append(withoutRows(t.s.projects, func(q store.Project) bool { return q.ID == p.ID }), p)
	return nil
}

func (t *tx) DeleteProject(id, heir session.RecordID) (bool, error) {
	n := len(t.s.projects)
	t.s.projects = withoutRows(t.s.projects, func(p store.Project) bool { return p.ID == id })
	t.s.approvals = withoutRows(t.s.approvals, func(a store.Approval) bool { return a.RecordID == id })
	t.setRecords(heir, func(row *sessionRow) bool { return row.record == id })
	return len(t.s.projects) < n, nil
}

func (t *tx) AdoptSessions(p store.Project, dir string) error {
	t.setRecords(p.ID, func(row *sessionRow) bool {
		s := &row.key
		of := s.ProjectID == "global" || s.ProjectID == p.ProjectID || string(s.ProjectID) == p.Root
		return row.record == "" && of &&
			(s.Location.Directory == dir || (p.Common != "" || p.Root != "") && isWithin(s, dir))
	})
	return nil
}

// setRecords sets the record of the rows that match.
func (t *tx) setRecords(record session.RecordID, match func(*sessionRow) bool) {
	var ids []session.ID
	t.s.sessions.forEach(func(id session.ID, h *home) {
		if h.row != nil && match(h.row) {
			ids = append(ids, id)
		}
	})
	for _, id := range ids {
		h := t.editHome(id)
		row := *h.row
		row.record = record
		h.row = &row
	}
}

// withoutRows returns a new slice of those that do not match.
func withoutRows[T any](s []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(s), match)
}
