package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// scratch holds the rows of one session in memory while its log is folded. It implements the part of store.Tx that
// the projection uses; any other call is a nil dereference, which apply reports.
type scratch struct {
	store.Tx
	id         session.ID
	row        *session.Session
	messages   map[session.MessageID]session.Message
	waiting    []*session.ItemCheckpointed // not yet in their messages
	inputs     map[session.MessageID]*session.Input
	asks       map[session.AskID]*store.AskRow
	spent      []store.Spend
	epoch      *store.Epoch
	unfinished bool
}

func newScratch(id session.ID) *scratch {
	return &scratch{
		id: id, messages: map[session.MessageID]session.Message{}, inputs: map[session.MessageID]*session.Input{},
		asks: map[session.AskID]*store.AskRow{},
	}
}

func (s *scratch) apply(e session.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the projection of %s uses an unsupported operation: %v", e.Data.Kind(), p)
		}
	}()
	if c, ok := e.Data.(*session.ItemCheckpointed); ok {
		s.waiting = append(s.waiting, c)
	}
	return projection.Apply(s, e)
}

func (s *scratch) Session(session.ID) (*session.Session, bool, error) {
	return s.row, s.row != nil, nil
}

func (s *scratch) PutSession(row *session.Session) error {
	s.row = row
	return nil
}

func (s *scratch) SetUnfinished(_ session.ID, unfinished bool) error {
	s.unfinished = unfinished && s.row != nil
	return nil
}

// Message finds messages of this session only: an id of another session was refused when the event was made.
func (s *scratch) Message(m session.MessageID) (session.ID, session.Message, error) {
	msg, ok := s.messages[m]
	if !ok {
		return "", nil, nil
	}
	if a, is := msg.(*session.Assistant); is {
		a.Checkpoint(s.waiting...)
		s.waiting = slices.DeleteFunc(
			s.waiting, func(c *session.ItemCheckpointed) bool { return c.AssistantMessageID == m },
		)
	}
	return s.id, msg, nil
}

func (s *scratch) PutMessage(_ session.ID, m session.Message, _ jsontext.Value, _ int64) error {
	s.messages[m.Meta().ID] = m
	return nil
}

func (s *scratch) DeleteMessages(_ session.ID, after, before int64) error {
	for id, m := range s.messages {
		if seq := m.Meta().Seq; seq > after && (before == 0 || seq < before) {
			delete(s.messages, id)
		}
	}
	return nil
}

// RawMessages returns the newest message of a type and call, which is all that the projection reads.
func (s *scratch) RawMessages(_ session.ID, q store.MessageQuery, f func(*store.RawMessage) error) error {
	var newest session.Message
	for _, m := range s.messages {
		sh, _ := m.(*session.Shell)
		of := m.Meta().Type == q.Type && (q.CallID == "" || sh != nil && sh.CallID == q.CallID)
		if of && (newest == nil || m.Meta().Seq > newest.Meta().Seq) {
			newest = m
		}
	}
	if newest == nil {
		return nil
	}
	data, err := json.Marshal(newest, json.Deterministic(true))
	if err != nil {
		return err
	}
	head := newest.Meta()
	return f(&store.RawMessage{ID: head.ID, Seq: head.Seq, Type: head.Type, Data: data})
}

func (s *scratch) Inputs(q store.InputQuery) ([]*session.Input, error) {
	if q.ID != "" {
		if in := s.inputs[q.ID]; in != nil {
			return []*session.Input{in}, nil
		}
		return nil, nil
	}
	var ins []*session.Input
	for _, in := range s.inputs {
		if in.PromotedSeq == nil && (q.Delivery == "" || in.Delivery == q.Delivery) {
			ins = append(ins, in)
		}
	}
	slices.SortFunc(ins, func(a, b *session.Input) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.AdmittedSeq, b.AdmittedSeq))
	})
	if q.Limit > 0 && len(ins) > q.Limit {
		ins = ins[:q.Limit]
	}
	return ins, nil
}

func (s *scratch) PutInput(in *session.Input) error {
	s.inputs[in.ID] = in
	return nil
}

func (s *scratch) DeleteInput(m session.MessageID) error {
	delete(s.inputs, m)
	return nil
}

func (s *scratch) Epoch(session.ID) (*store.Epoch, bool, error) { return s.epoch, s.epoch != nil, nil }

func (s *scratch) PutEpoch(_ session.ID, e *store.Epoch) error {
	s.epoch = e
	return nil
}

// Asks returns the ask with the id.
func (s *scratch) Asks(q store.AskQuery) ([]*store.AskRow, error) {
	if row := s.asks[q.ID]; row != nil {
		return []*store.AskRow{row}, nil
	}
	return nil, nil
}

func (s *scratch) PutAsk(a *store.AskRow) error {
	s.asks[a.ID] = a
	return nil
}

func (s *scratch) AddSpend(line store.Spend) error {
	s.spent = append(s.spent, line)
	return nil
}
