package eventlog

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Draft is an event that is not committed yet. A zero Timestamp becomes the current time; the log sets the
// session's id.
type Draft struct {
	Data    session.EventData
	Private *session.Private
	// Await waits for Data, which another goroutine makes while the drafts before are appended; nil if Data is set.
	Await func() (session.EventData, error)
}

// NewDrafts returns drafts of payloads without private parts.
func NewDrafts(data ...session.EventData) []Draft {
	ds := make([]Draft, len(data))
	for i, d := range data {
		ds[i].Data = d
	}
	return ds
}

// Append commits the drafts that decide returns, with their rows, in one transaction and returns the events. decide
// sees the state that the events will follow, and may run more than once. No drafts commit nothing and are not an
// error. A session in which damage was found accepts no events; the error is its *store.Damage. Only the engine
// calls Append.
func (l *Log) Append(
	ctx context.Context, id session.ID, d store.Durability, decide func(store.Tx) ([]Draft, error),
) ([]session.Event, error) {
	if err := l.store.FindDamage(id); err != nil {
		return nil, fmt.Errorf("append to session %s: %w", id, err)
	}
	// The transaction may run again after a conflict: everything that it sets is reset first.
	var events []session.Event
	var slot *sessionRow
	var row *session.Session
	err := l.store.Update(ctx, d, func(tx store.Tx) error {
		row = nil
		// Let the caller decide in the transaction, on the state that its events will follow.
		drafts, err := decide(tx)
		events = make([]session.Event, 0, len(drafts))
		if err != nil || len(drafts) == 0 {
			return err
		}
		// Find the place of the first event. The tail is verified, so that nothing is appended to a damaged log.
		head, err := tx.Head(id)
		if err != nil {
			return err
		}
		created, creates := drafts[0].Data.(*session.Created)
		if head < 0 && !creates {
			return missingLogError(tx, id)
		}
		if err := l.verifyTail(tx, id, head); err != nil {
			return err
		}
		next := head + 1
		if head < 0 {
			next = created.FirstSeq()
		}
		// Insert the events and apply them to the rows. The session's row comes from the cache if it is of this
		// head, and is taken out of it until the commit.
		rows := projection.NewBatch(tx)
		slot, row = l.rows.takeRow(id, head)
		rows.HoldSession(row)
		row = nil
		for i, draft := range drafts {
			if draft.Await != nil {
				if draft.Data, err = draft.Await(); err != nil {
					return err
				}
			}
			e := l.newEvent(id, next+int64(i), draft)
			if err := rows.Apply(e); err != nil {
				return err
			}
			if e.Position, err = insertEvent(tx, e); err != nil {
				return err
			}
			events = append(events, e)
		}
		row = rows.HeldSession(id)
		return rows.Flush()
	})
	if err != nil {
		return nil, err
	}
	// Committed: give the row back, and tell the streams.
	if len(events) > 0 {
		l.rows.putRow(slot, events[len(events)-1].Seq, row)
	}
	l.hub.addCommitted(events)
	return events, nil
}

// AppendDeleted deletes a session: remove deletes its rows, and a session.Deleted event with what remains takes
// their place among the events of all sessions. It does nothing if the session does not exist. Only the engine
// calls it.
func (l *Log) AppendDeleted(
	ctx context.Context, id session.ID, remains session.Session, remove func(store.Tx) error,
) error {
	var ended []session.Event
	err := l.store.Update(ctx, store.Durable, func(tx store.Tx) error {
		ended = nil
		// A session whose log or row is left can be deleted; one without both is gone already.
		head, err := tx.Head(id)
		if err != nil {
			return err
		}
		_, there, err := tx.Session(id)
		if head < 0 && !there && err == nil {
			return nil
		}
		l.rows.dropRow(id)
		if err := remove(tx); err != nil { // damaged rows too
			return err
		}
		// The last event outlives the rows.
		e := l.newEvent(id, head+1, Draft{Data: &session.Deleted{Info: remains}})
		row, err := Encode(e)
		if err != nil {
			return err
		}
		e.Position, err = tx.InsertEvent(row)
		ended = []session.Event{e}
		return err
	})
	if err != nil {
		return err
	}
	// Committed: its damage is gone with it, and streams learn of the end.
	l.store.ForgetDamage(id)
	l.hub.addCommitted(ended)
	l.onDelete()
	return nil
}

// missingLogError returns why a session without events cannot be appended to: it does not exist, or its log is
// lost.
func missingLogError(r store.Reader, id session.ID) error {
	_, ok, err := r.Session(id)
	switch {
	case err != nil:
		return err
	case ok:
		return &store.Damage{SessionID: id, Seq: 0, Detail: "the log is missing"}
	default:
		return session.NotFound("session", string(id))
	}
}

func (l *Log) newEvent(id session.ID, seq int64, d Draft) session.Event {
	stamp := d.Data.Stamp()
	stamp.SessionID = id
	if stamp.Timestamp == 0 {
		stamp.Timestamp = l.now().UnixMilli()
	}
	return session.Event{
		ID: session.EventID(l.ids.New(session.PrefixEvent)), SessionID: id, Seq: seq,
		Version: d.Data.Version(), Data: d.Data, Private: d.Private,
	}
}

func insertEvent(tx store.Tx, e session.Event) (position int64, err error) {
	row, err := Encode(e)
	if err != nil {
		return 0, err
	}
	return tx.InsertEvent(row)
}

// Encode returns the stored form of the event.
func Encode(e session.Event) (store.EventRow, error) {
	data, err := session.EncodeData(e.Data)
	if err != nil {
		return store.EventRow{}, err
	}
	row := store.EventRow{
		Position: e.Position, ID: e.ID, SessionID: e.SessionID, Seq: e.Seq, Kind: e.Data.Kind(), Version: e.Version,
		Data: data,
	}
	if e.Private != nil {
		row.Private, err = json.Marshal(e.Private, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	}
	return row, err
}
