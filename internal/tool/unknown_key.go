package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// fitInput is checkInput for a call to run: if keys that the schema does not have are all that is wrong, it removes
// them. It returns a note about them for the model, "" without such keys. A refusal would cost the model a step because
// of a key that other programs' tools have.
func (s *schema) fitInput(name string, input jsontext.Value) (v jsontext.Value, note string, err error) {
	v, err = s.checkInput(name, input)
	if err == nil || s.resolved == nil {
		return v, "", err
	}
	whole, failed := parseObject(input)
	if failed != nil {
		return nil, "", err
	}
	less, unknown := removeUnknown(s.root, coerceValue(s.root, whole), "")
	if v, failed = s.checkInput(name, less); failed != nil {
		return nil, "", err
	}
	for i, key := range unknown {
		unknown[i] = fmt.Sprintf("%q", session.ClipText(key, 60))
		if near := suggestKey(key, s.root); near != "" && !strings.ContainsAny(key, ".[") {
			unknown[i] += " (" + strings.TrimPrefix(near, ", ") + ")"
		}
	}
	const most = 8
	if len(unknown) > most {
		unknown = append(unknown[:most], "…")
	}
	note = fmt.Sprintf("Note: %s has no parameter %s; the call ran without.", name, strings.Join(unknown, ", "))
	return v, note, nil
}

// removeUnknown returns v without the keys that closed objects of the schema do not have, and their paths.
// It descends through properties and items only. A value that does not have the form of its schema is left as it is;
// validation reports it.
func removeUnknown(s *jsonschema.Schema, v jsontext.Value, at string) (jsontext.Value, []string) {
	// A list: each of its elements; any other value than an object has no keys.
	switch {
	case s == nil:
		return v, nil
	case v.Kind() == '[' && s.Items != nil:
		var items []jsontext.Value
		if json.Unmarshal(v, &items) != nil {
			return v, nil
		}
		var unknown []string
		for i := range items {
			var more []string
			items[i], more = removeUnknown(s.Items, items[i], fmt.Sprintf("%s[%d]", at, i))
			unknown = append(unknown, more...)
		}
		return encodeOr(items, v), unknown
	case v.Kind() != '{':
		return v, nil
	}
	// An object: descend into known keys; remove an unknown one only if the schema is closed.
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return v, nil
	}
	var unknown []string
	for key, member := range members {
		sub, ok := s.Properties[key]
		switch {
		case ok:
			var more []string
			members[key], more = removeUnknown(sub, member, joinKey(at, key))
			unknown = append(unknown, more...)
		case isClosed(s):
			delete(members, key)
			unknown = append(unknown, joinKey(at, key))
		}
	}
	// Sort: maps have no order, and the note to the model must be the same each time.
	slices.Sort(unknown)
	return encodeOr(members, v), unknown
}
