package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/projection"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// scratch holds the rows of one session in memory while its log is folded. It has what the projections use of a
// transaction; anything else would be a nil call, which apply reports.
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
			err = fmt.Errorf("the projection of %s does what the checker does not know: %v", e.Data.Kind(), p)
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

func (s *scratch) Message(_ session.ID, m session.MessageID) (session.Message, bool, error) {
	msg, ok := s.messages[m]
	if a, is := msg.(*session.Assistant); is {
		a.Checkpoint(s.waiting...)
		s.waiting = slices.DeleteFunc(s.waiting, func(c *session.ItemCheckpointed) bool { return c.AssistantMessageID == m })
	}
	return msg, ok, nil
}

func (s *scratch) PutMessage(_ session.ID, m session.Message, _ int64) error {
	s.messages[m.Meta().ID] = m
	return nil
}

func (s *scratch) DeleteMessage(m session.MessageID) error {
	delete(s.messages, m)
	return nil
}

func (s *scratch) DeleteMessages(_ session.ID, after int64) error {
	for id, m := range s.messages {
		if m.Meta().Seq > after {
			delete(s.messages, id)
		}
	}
	return nil
}

func (s *scratch) NewestOf(_ session.ID, t session.MessageType) (newest session.Message, ok bool, err error) {
	for _, m := range s.messages {
		if m.Meta().Type == t && (newest == nil || m.Meta().Seq > newest.Meta().Seq) {
			newest = m
		}
	}
	return newest, newest != nil, nil
}

// MessageOwner knows this session's messages only: what other sessions have was refused when the event was made.
func (s *scratch) MessageOwner(m session.MessageID) (session.ID, bool, error) {
	_, ok := s.messages[m]
	return s.id, ok, nil
}

func (s *scratch) ShellByCall(_ session.ID, callID string) (newest *session.Shell, ok bool, err error) {
	for _, m := range s.messages {
		if sh, is := m.(*session.Shell); is && sh.CallID == callID && (newest == nil || sh.Seq > newest.Seq) {
			newest = sh
		}
	}
	return newest, newest != nil, nil
}

func (s *scratch) Input(m session.MessageID) (*session.Input, bool, error) {
	in, ok := s.inputs[m]
	return in, ok, nil
}

func (s *scratch) Pending(_ session.ID, d session.Delivery, limit int) ([]*session.Input, error) {
	var ins []*session.Input
	for _, in := range s.inputs {
		if in.PromotedSeq == nil && (d == "" || in.Delivery == d) {
			ins = append(ins, in)
		}
	}
	slices.SortFunc(ins, func(a, b *session.Input) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.AdmittedSeq, b.AdmittedSeq))
	})
	if limit > 0 && len(ins) > limit {
		ins = ins[:limit]
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

func (s *scratch) PutEpoch(_ session.ID, e store.Epoch) error {
	s.epoch = &e
	return nil
}

func (s *scratch) DeleteEpoch(session.ID) error {
	s.epoch = nil
	return nil
}

func (s *scratch) Ask(a session.AskID) (*store.AskRow, bool, error) {
	row, ok := s.asks[a]
	return row, ok, nil
}

func (s *scratch) PutAsk(a *store.AskRow) error {
	s.asks[a.ID] = a
	return nil
}

func (s *scratch) AddSpend(line store.Spend) error {
	s.spent = append(s.spent, line)
	return nil
}
