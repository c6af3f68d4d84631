package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// FindMessage returns the message if it is the session's; false if it is not, or does not exist.
func FindMessage(r MessageReader, id session.ID, m session.MessageID) (session.Message, bool, error) {
	owner, found, err := r.Message(m)
	if owner != id && owner != "" {
		return nil, false, nil
	}
	return found, found != nil && err == nil, err
}

// ReadMessages returns the decoded messages.
func ReadMessages(r MessageReader, id session.ID, q MessageQuery) ([]session.Message, error) {
	out := []session.Message{}
	err := r.RawMessages(id, q, func(row *RawMessage) error {
		m, err := row.Message()
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReadRawMessages returns copies of the stored bytes of messages, for views that pass them on undecoded.
func ReadRawMessages(r MessageReader, id session.ID, q MessageQuery) ([]RawMessage, error) {
	out := []RawMessage{}
	var mem Arena
	err := r.RawMessages(id, q, func(row *RawMessage) error {
		m := *row
		m.Data = mem.Clone(row.Data)
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// NewestMessage returns the session's newest message of the type, false if it has none.
func NewestMessage(r MessageReader, id session.ID, t session.MessageType) (session.Message, bool, error) {
	return newestMessage(r, id, MessageQuery{Type: t})
}

// FindShell returns the session's newest shell message with the call id, false if it has none.
func FindShell(r MessageReader, id session.ID, callID string) (*session.Shell, bool, error) {
	m, ok, err := newestMessage(r, id, MessageQuery{Type: session.TypeShell, CallID: callID})
	sh, _ := m.(*session.Shell)
	return sh, ok && sh != nil, err
}

// FindCompaction returns the session's compaction that V1 shows as the answer to the request with the id, false if it
// has none.
func FindCompaction(r MessageReader, id session.ID, request session.MessageID) (*session.Compaction, bool, error) {
	all, err := ReadMessages(r, id, MessageQuery{After: -1, Type: session.TypeCompaction, Newest: true})
	for _, m := range all {
		if c, ok := m.(*session.Compaction); ok && c.RequestID == request {
			return c, true, err
		}
	}
	return nil, false, err
}

func newestMessage(r MessageReader, id session.ID, q MessageQuery) (newest session.Message, ok bool, err error) {
	q.After, q.Newest, q.Limit = -1, true, 1
	err = r.RawMessages(id, q, func(row *RawMessage) (err error) {
		newest, err = row.Message()
		return err
	})
	return newest, newest != nil && err == nil, err
}

// WithoutDamaged returns the rows that are whole, and how many are damaged. It changes rows.
func WithoutDamaged(rows []RawSession) (whole []RawSession, damaged int) {
	whole = slices.DeleteFunc(rows, func(r RawSession) bool { return r.Data == nil })
	return whole, len(rows) - len(whole)
}

// ReadSessions returns the decoded sessions, without the damaged ones.
func ReadSessions(r SessionReader, q SessionQuery) ([]*session.Session, error) {
	rows, err := r.RawSessions(q)
	if err != nil {
		return nil, err
	}
	rows, _ = WithoutDamaged(rows)
	out := make([]*session.Session, len(rows))
	for i := range rows {
		if out[i], err = rows[i].Session(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sessionsAtOnce are read in one transaction by VisitSessions.
const sessionsAtOnce = 200

// VisitSessions calls f for each session of the query, oldest first, damaged ones too. It reads pages in transactions of their
// own, so f may use the store; a session that is created meanwhile is visited, one that is deleted may be. The order and
// the limit of the query are not used.
func VisitSessions(ctx context.Context, v Viewer, q SessionQuery, f func(RawSession) error) error {
	q.Oldest, q.Recent, q.After, q.Limit = true, false, nil, sessionsAtOnce
	for {
		// Read a page.
		rows, err := Query(ctx, v, func(r Reader) ([]RawSession, error) { return r.RawSessions(q) })
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := f(row); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		// Go on behind it. A damaged time of creation must not lead back.
		last := rows[len(rows)-1]
		next := SessionAnchor{Created: last.Created, ID: last.ID}
		if q.After != nil && cmp.Or(cmp.Compare(next.Created, q.After.Created), cmp.Compare(next.ID, q.After.ID)) <= 0 {
			return &Damage{SessionID: last.ID, Seq: -1, Detail: "the time of its creation"}
		}
		q.After = &next
	}
}

// SumDescendants returns the cost and the tokens of all sessions below id.
func SumDescendants(r SessionReader, id session.ID) (cost session.USD, tokens session.Tokens, err error) {
	below, err := ReadSessions(r, SessionQuery{Ancestor: id, Archived: true})
	for _, s := range below {
		cost, tokens = cost+s.Cost, tokens.Add(s.Tokens)
	}
	return cost, tokens, err
}

// IsBelow reports whether the session is a descendant of the ancestor.
func IsBelow(r SessionReader, id, ancestor session.ID) (bool, error) {
	for seen := map[session.ID]bool{"": true}; !seen[id]; {
		seen[id] = true
		s, found, err := r.Session(id)
		if err != nil || !found {
			return false, err
		}
		if id = s.ParentID; id == ancestor {
			return id != "", nil
		}
	}
	return false, nil
}

// FindRoot returns the first session of the tree of a session: the last one on the way up that exists and is not damaged; ""
// if the session itself is none.
func FindRoot(r SessionReader, id session.ID) (root session.ID, err error) {
	for seen := map[session.ID]bool{"": true}; !seen[id]; {
		seen[id] = true
		s, found, err := r.Session(id)
		if errors.Is(err, ErrDamaged) || err == nil && !found {
			return root, nil
		}
		if err != nil {
			return "", err
		}
		root, id = id, s.ParentID
	}
	return root, nil
}

// FindInput returns the admitted prompt with the id, pending or promoted, of any session; false if it does not exist.
func FindInput(r InboxReader, m session.MessageID) (*session.Input, bool, error) {
	if m == "" {
		return nil, false, nil
	}
	ins, err := r.Inputs(InputQuery{ID: m})
	if err != nil || len(ins) == 0 {
		return nil, false, err
	}
	return ins[0], true, nil
}

// PendingInputs returns the session's pending prompts of the delivery ("" any) in their order.
func PendingInputs(r InboxReader, id session.ID, d session.Delivery, limit int) ([]*session.Input, error) {
	return r.Inputs(InputQuery{SessionID: id, Delivery: d, Limit: limit})
}

// PendingAsksAt returns the pending asks of the sessions of a directory.
func PendingAsksAt(ctx context.Context, v Viewer, directory string) ([]*AskRow, error) {
	return Query(ctx, v, func(r Reader) (here []*AskRow, err error) {
		rows, err := r.Asks(AskQuery{Pending: true})
		for _, row := range rows {
			s, ok, err := r.Session(row.SessionID)
			if err != nil {
				return nil, err
			}
			if ok && s.Location.Directory == directory {
				here = append(here, row)
			}
		}
		return here, err
	})
}

// PendingAsksOf returns the pending asks of a session and of its descendants.
func PendingAsksOf(r Reader, id session.ID) (asks []*AskRow, err error) {
	all, err := r.Asks(AskQuery{Pending: true})
	for _, row := range all {
		below := row.SessionID == id
		if !below {
			if below, err = IsBelow(r, row.SessionID, id); err != nil {
				return nil, err
			}
		}
		if below {
			asks = append(asks, row)
		}
	}
	return asks, err
}

// FindAskOf returns the ask if it is that of the session or of one of its descendants; false if it is not.
func FindAskOf(r Reader, id session.ID, a session.AskID) (*AskRow, bool, error) {
	row, ok, err := FindAsk(r, a)
	if err != nil || !ok || row.SessionID == id {
		return row, ok, err
	}
	below, err := IsBelow(r, row.SessionID, id)
	return row, below, err
}

// FindAsk returns the ask with the id, pending or replied, of any session; false if it does not exist.
func FindAsk(r AskReader, a session.AskID) (*AskRow, bool, error) {
	if a == "" {
		return nil, false, nil
	}
	asks, err := r.Asks(AskQuery{ID: a})
	if err != nil || len(asks) == 0 {
		return nil, false, err
	}
	return asks[0], true, nil
}
