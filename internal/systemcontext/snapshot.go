package systemcontext

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// entry is the stored state of an admitted source: its value, and the text that announces its removal, rendered in
// advance because the source may be gone by then.
type entry struct {
	Value   jsontext.Value `json:"value"`
	Removal string         `json:"removal,omitzero"`
}

// snapshot is the admitted sources by key.
type snapshot map[string]entry

// SnapshotError means that a stored snapshot cannot be decoded. Its epoch must be cleared or the store repaired.
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

// isUnchanged reports whether the snapshot holds exactly the observed values, and any of unavailable sources. It reads
// raw in place, because almost every boundary changes nothing. False means that the snapshot must be decoded.
func isUnchanged(raw jsontext.Value, seen []observation) bool {
	anyNames := jsontext.AllowDuplicateNames(true) // saves the memory for names
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), anyNames)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	missing := 0
	for _, o := range seen {
		if o.unavailable == nil {
			missing++
		}
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadValue()
		i := slices.IndexFunc(seen, func(o observation) bool { return isQuoted(key, o.key) })
		if err != nil || i < 0 || !seen[i].equalsEntry(d) {
			return false
		}
		if seen[i].unavailable == nil {
			missing--
		}
	}
	t, err := d.ReadToken()
	return err == nil && t.Kind() == '}' && missing == 0
}

// isQuoted reports whether the JSON string is the text, which needs no escapes.
func isQuoted(raw []byte, text string) bool {
	return len(raw) == len(text)+2 && string(raw[1:len(raw)-1]) == text
}

// equalsEntry reads an entry and reports whether it holds the observed value; any does for an unavailable source.
func (o observation) equalsEntry(d *jsontext.Decoder) bool {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	equal := o.unavailable != nil
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		isValue := err == nil && isQuoted(name, "value")
		v, err := d.ReadValue()
		if err != nil {
			return false
		}
		if isValue && o.unavailable == nil {
			equal, _ = o.value.compare(v)
		}
	}
	t, err := d.ReadToken()
	return err == nil && t.Kind() == '}' && equal
}

// encode returns a deterministic encoding.
func (s snapshot) encode() (jsontext.Value, error) {
	b, err := json.Marshal(s, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode the context snapshot: %w", err)
	}
	return b, nil
}

// addEntry stores the observed value under its key.
func (s snapshot) addEntry(o observation) error {
	raw, err := o.value.encode()
	if err != nil {
		return fmt.Errorf("encode the value of system context source %s: %w", o.key, err)
	}
	e := entry{Value: raw}
	if removal := o.value.removalRenderer(); removal != nil {
		if e.Removal, err = renderText(o.key, "removal", removal); err != nil {
			return err
		}
	}
	s[o.key] = e
	return nil
}

// EmptyTextError means that a source rendered an empty text, which is a programming error (SC-3).
type EmptyTextError struct {
	Key  string
	Form string // "baseline", "update" or "removal"
}

func (e *EmptyTextError) Error() string {
	return fmt.Sprintf("system context source %s rendered an empty %s text", e.Key, e.Form)
}

func renderText(key, form string, render func() string) (string, error) {
	t := render()
	if t == "" {
		return "", &EmptyTextError{key, form}
	}
	return t, nil
}
