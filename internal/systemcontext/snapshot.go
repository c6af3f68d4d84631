package systemcontext

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// entry is what the snapshot keeps of an admitted source: its value, and what to say should it disappear. The text is
// rendered beforehand because the source that could render it may be gone by then (R7).
type entry struct {
	Value   jsontext.Value `json:"value"`
	Removal string         `json:"removal,omitzero"`
}

// snapshot holds the admitted sources by key.
type snapshot map[string]entry

// SnapshotError says that a stored snapshot cannot be read at all. Its epoch must be cleared or the store repaired.
type SnapshotError struct{ Err error }

func (e *SnapshotError) Error() string {
	return "the stored context snapshot cannot be read: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *SnapshotError) Unwrap() error { return e.Err }

func decodeSnapshot(raw jsontext.Value) (snapshot, error) {
	var s snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, &SnapshotError{err}
	}
	if s == nil { // null
		return nil, &SnapshotError{fmt.Errorf("it is %s, not an object", raw.Kind())}
	}
	return s, nil
}

// encode returns bytes that depend on the entries only.
func (s snapshot) encode() (jsontext.Value, error) {
	b, err := json.Marshal(s, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode the context snapshot: %w", err)
	}
	return b, nil
}

// admit puts the observed value under its key.
func (s snapshot) admit(o observation) error {
	raw, err := o.value.encode()
	if err != nil {
		return fmt.Errorf("encode the value of system context source %s: %w", o.key, err)
	}
	e := entry{Value: raw}
	if o.value.removal != nil {
		if e.Removal, err = text(o.key, "removal", o.value.removal); err != nil {
			return err
		}
	}
	s[o.key] = e
	return nil
}

// EmptyTextError says that a source rendered nothing, which is a bug of the source (SC-3).
type EmptyTextError struct {
	Key  string
	Form string // "baseline", "update" or "removal"
}

func (e *EmptyTextError) Error() string {
	return fmt.Sprintf("system context source %s rendered an empty %s text", e.Key, e.Form)
}

func text(key, form string, render func() string) (string, error) {
	t := render()
	if t == "" {
		return "", &EmptyTextError{key, form}
	}
	return t, nil
}
