package eventlog

import (
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Decode decodes a stored event and converts an older version to the current one. An event that cannot be decoded
// is a *store.Damage.
func Decode(r store.EventRow) (session.Event, error) {
	data, err := session.DecodeData(r.Kind, r.Version, r.Data)
	if err != nil {
		return session.Event{}, &store.Damage{SessionID: r.SessionID, Seq: r.Seq, Detail: err.Error()}
	}
	e := session.Event{
		ID: r.ID, SessionID: r.SessionID, Seq: r.Seq, Position: r.Position, Version: data.Version(), Data: data,
	}
	if len(r.Private) > 0 {
		e.Private = &session.Private{}
		if err := json.Unmarshal(r.Private, e.Private); err != nil {
			return e, &store.Damage{SessionID: r.SessionID, Seq: r.Seq, Detail: "private part: " + err.Error()}
		}
	}
	return e, nil
}

// DecodeAll decodes the result of a read of events. On an error it returns the events before the first undecodable one.
func DecodeAll(rows []store.EventRow, err error) ([]session.Event, error) {
	events := make([]session.Event, 0, len(rows))
	for _, r := range rows {
		e, decodeErr := Decode(r)
		if decodeErr != nil {
			return events, decodeErr
		}
		events = append(events, e)
	}
	return events, err
}
