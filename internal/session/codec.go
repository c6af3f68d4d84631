package session

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind returns the stored kind.
func (u *Unknown) Kind() Kind { return u.UnknownKind }

// Version returns the stored version.
func (u *Unknown) Version() int { return u.UnknownVersion }

// Stamp returns the Fact fields that could be read.
func (u *Unknown) Stamp() *Fact { return &u.head }

// EncodeData returns the stored form of a payload, deterministic and compact. Invalid UTF-8, as in file names, becomes
// U+FFFD, so that no outside bytes keep an event from being stored.
func EncodeData(d EventData) (jsontext.Value, error) {
	switch d := d.(type) {
	case *Unknown:
		return d.Raw, nil
	case *MessagesCopied:
		if d.decoded != nil && d.Extra == nil {
			return d.encode(), nil
		}
	}
	b, err := json.Marshal(d, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", d.Kind(), err)
	}
	return b, nil
}

// encode returns the stored form of the payload, around those of the messages, which are not read again.
func (e *MessagesCopied) encode() jsontext.Value {
	size := len(e.SessionID) + 128
	for _, m := range e.Messages {
		size += len(m) + 1
	}
	b := make([]byte, 0, size)
	b = strconv.AppendInt(append(b, `{"timestamp":`...), e.Timestamp, 10)
	b, _ = jsontext.AppendQuote(append(b, `,"sessionID":`...), e.SessionID) // an error is invalid UTF-8, which it replaces
	b = strconv.AppendInt(append(b, `,"first":`...), e.First, 10)
	b = append(b, `,"messages":[`...)
	for i, m := range e.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m...)
	}
	return append(b, `]}`...)
}

// EncodeMessage returns the stored form of a message, deterministic and compact. Invalid UTF-8 becomes U+FFFD.
func EncodeMessage(m Message) (jsontext.Value, error) {
	b, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", m.Meta().ID, err)
	}
	return b, nil
}

// DecodeData reads a stored payload. Old versions are converted to the current one. An unknown kind or version becomes
// an Unknown, so that the log of a newer cairn can be read, tailed and copied without loss.
func DecodeData(k Kind, version int, raw jsontext.Value) (EventData, error) {
	d := newData(k)
	if d == nil || version > d.Version() {
		u := &Unknown{UnknownKind: k, UnknownVersion: version, Raw: raw.Clone()}
		_ = json.Unmarshal(raw, &u.head) // best effort: the payload may not have these fields
		u.head.Extra = nil
		return u, nil
	}
	raw, err := upcastData(k, version, raw)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("decode %s version %d: %w", k, version, err)
	}
	return d, nil
}

// A dataStep converts a payload of one version to the form of the next one.
type dataStep func(jsontext.Value) (jsontext.Value, error)

// membersAdded is the step to a version that only has further members, which may be absent.
func membersAdded(raw jsontext.Value) (jsontext.Value, error) { return raw, nil }

// dataSteps are the steps of each kind that changed: the first leads from version 1 to 2. Each change of form adds one
// for good, and a payload of the version before to testdata/older.
var dataSteps = map[Kind][]dataStep{
	KindStepEnded:  {membersAdded},
	KindStepFailed: {membersAdded},
}

// upcastData converts an old version's payload to the current form, by the steps between neighbours.
func upcastData(k Kind, version int, raw jsontext.Value) (_ jsontext.Value, err error) {
	if version < 1 {
		return nil, fmt.Errorf("decode %s: invalid version %d", k, version)
	}
	steps := dataSteps[k]
	for i := version - 1; i < len(steps); i++ {
		if raw, err = steps[i](raw); err != nil {
			return nil, fmt.Errorf("convert %s from version %d to %d: %w", k, i+1, i+2, err)
		}
	}
	return raw, nil
}

// MarshalJSON writes the V2 wire form: {id, type, durable{aggregateID, seq, version}, data}. Private stays out.
func (e Event) MarshalJSON() ([]byte, error) {
	data, err := EncodeData(e.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireEvent{
		ID: e.ID, Type: e.Data.Kind(),
		Durable: &wireDurable{AggregateID: e.SessionID, Seq: e.Seq, Version: e.Version},
		Data:    data,
	})
}

// UnmarshalJSON reads the wire form of a durable event and converts an older version to the current one.
func (e *Event) UnmarshalJSON(b []byte) error {
	var w wireEvent
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Durable == nil {
		return fmt.Errorf("event %s of type %s is not durable", w.ID, w.Type)
	}
	data, err := DecodeData(w.Type, w.Durable.Version, w.Data)
	if err != nil {
		return err
	}
	*e = Event{ID: w.ID, SessionID: w.Durable.AggregateID, Seq: w.Durable.Seq, Version: data.Version(), Data: data}
	return nil
}

type wireEvent struct {
	ID      EventID        `json:"id"`
	Type    Kind           `json:"type"`
	Durable *wireDurable   `json:"durable,omitzero"`
	Data    jsontext.Value `json:"data"`
}

type wireDurable struct {
	AggregateID ID    `json:"aggregateID"`
	Seq         int64 `json:"seq"`
	Version     int   `json:"version"`
}
