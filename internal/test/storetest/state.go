package storetest

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// state is the content of a Memory. A committed state is never changed: a transaction works on a fork. What is
// reachable from two states is shared; appended slices share their array, which is safe because states form one line
// (a state is forked again only after the other fork was thrown away).
type state struct {
	position  int64
	feed      []*store.EventRow
	sessions  table[session.ID, *home]
	messages  table[session.MessageID, session.ID] // whose the id is
	inputs    table[session.MessageID, session.ID]
	asks      table[session.AskID, session.ID]
	approvals []store.Approval
	spend     []store.Spend
	projects  []store.Project
}

// home holds the rows that belong to one session and are deleted with it.
type home struct {
	row        *sessionRow // nil if only events and the like are there
	unfinished bool
	events     []*store.EventRow
	messages   []*messageRow // by seq
	inputs     []*inputRow
	asks       []*askRow
	epoch      *store.Epoch
}

// findHead returns the seq of the newest event, -1 without events.
func (h *home) findHead() int64 {
	if len(h.events) == 0 {
		return -1
	}
	return h.events[len(h.events)-1].Seq
}

type sessionRow struct {
	key    session.Session // shares nothing with data; only its plain fields are used
	record session.RecordID
	data   []byte
}

func (r *sessionRow) raw() store.RawSession {
	return store.RawSession{
		ID: r.key.ID, RecordID: r.record, Created: r.key.Time.Created, Updated: r.key.Time.Updated, Data: bytes.Clone(r.data),
	}
}

type messageRow struct {
	store.RawMessage
	callID  string
	through int64 // store.Behind
}

type inputRow struct {
	id              session.MessageID
	delivery        session.Delivery
	order, admitted int64
	pending         bool
	data            []byte
}

type askRow struct {
	id      session.AskID
	session session.ID
	time    int64
	seq     int64
	pending bool
	data    []byte
}

func (s *state) fork() *state {
	f := *s
	f.sessions, f.messages = s.sessions.fork(), s.messages.fork()
	f.inputs, f.asks = s.inputs.fork(), s.asks.fork()
	return &f
}

// detach returns the state with its own arrays, so that a second line of states can begin.
func (s *state) detach() *state {
	f := s.fork()
	f.feed, f.spend, f.approvals = slices.Clone(s.feed), slices.Clone(s.spend), slices.Clone(s.approvals)
	f.projects = slices.Clone(s.projects)
	s.sessions.forEach(func(id session.ID, h *home) {
		c := *h
		c.events, c.messages = slices.Clone(h.events), slices.Clone(h.messages)
		c.inputs, c.asks = slices.Clone(h.inputs), slices.Clone(h.asks)
		f.sessions.put(id, &c)
	})
	return f
}

func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

func decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	return v, nil
}

// cloneBytes copies bytes; an empty slice becomes nil.
func cloneBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}

func cloneRow(r *store.EventRow) store.EventRow {
	c := *r
	c.Data, c.Private = cloneBytes(r.Data), cloneBytes(r.Private)
	return c
}

func cloneRows(rows []*store.EventRow, limit int) []store.EventRow {
	out := make([]store.EventRow, 0, len(truncate(rows, limit)))
	for _, r := range truncate(rows, limit) {
		out = append(out, cloneRow(r))
	}
	return out
}

func truncate[T any](s []T, limit int) []T {
	if limit > 0 && len(s) > limit {
		return s[:limit]
	}
	return s
}
