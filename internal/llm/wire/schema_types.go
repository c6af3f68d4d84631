package wire

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// typesOf returns the types that a schema allows: its explicit types, else the type that its keywords imply; nil means
// any type.
func typesOf(n Object) []string {
	var types []string
	switch {
	case n["type"].Kind() == '"':
		return []string{DecodeString(n["type"])}
	case n["type"] != nil:
		_ = json.Unmarshal(n["type"], &types, Foreign) // an invalid list names no types
		slices.SortStableFunc(types, func(a, b string) int { return nullRank(a) - nullRank(b) })
		return slices.Compact(types)
	case n["properties"] != nil:
		return []string{"object"}
	case n["items"] != nil:
		return []string{"array"}
	}
	return nil
}

// nullRank sorts null after the other types.
func nullRank(name string) int {
	if name == "null" {
		return 1
	}
	return 0
}

// isNullableScalar reports whether types are one scalar type and null, a list that every vendor accepts.
func isNullableScalar(types []string) bool {
	return len(types) == 2 && types[1] == "null" && types[0] != "object" && types[0] != "array"
}

// EnumValues returns the values that a schema allows by enum or const and that its type permits.
func EnumValues(n Object) (values []jsontext.Value, ok bool) {
	if values, ok = ReadList(n["enum"]); !ok {
		if n["const"] == nil {
			return nil, false
		}
		values = []jsontext.Value{n["const"]}
	}
	types := typesOf(n)
	kept := make([]jsontext.Value, 0, len(values))
	for _, v := range values {
		isDuplicate := slices.ContainsFunc(kept, func(o jsontext.Value) bool { return string(o) == string(v) })
		if !isDuplicate &&
			(len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return hasType(v, name) })) {
			kept = append(kept, v)
		}
	}
	return kept, true
}

func hasType(v jsontext.Value, name string) bool {
	kind := typeOf(v)
	return kind == name || name == "number" && kind == "integer" || name == "integer" && kind == "number"
}

func typeOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "string"
	case '0':
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '{':
		return "object"
	default:
		return "array"
	}
}

// EnumSchemas returns schemas that together allow the values, one for each type among them: vendors require enums to
// have a type.
func EnumSchemas(values []jsontext.Value) []Object {
	var names []string
	by := map[string][]jsontext.Value{}
	for _, v := range values {
		name := typeOf(v)
		if name == "number" || name == "integer" {
			name = "number"
		}
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], v)
	}
	slices.SortStableFunc(names, func(a, b string) int { return nullRank(a) - nullRank(b) })
	out := make([]Object, len(names))
	for i, name := range names {
		out[i] = newEnumSchema(name, by[name])
	}
	return out
}

func newEnumSchema(name string, values []jsontext.Value) Object {
	if name == "null" {
		return Object{"type": Quote(name)}
	}
	if name == "number" && !slices.ContainsFunc(values, func(v jsontext.Value) bool { return typeOf(v) == "number" }) {
		name = "integer"
	}
	return Object{"type": Quote(name), "enum": MarshalOr(values, nil)}
}
