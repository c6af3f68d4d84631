package wire

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// typesOf returns the types that a schema allows: those it names, else the one that what it says is about. None means
// any.
func typesOf(n Object) []string {
	var types []string
	switch {
	case n["type"].Kind() == '"':
		return []string{Plain(n["type"])}
	case n["type"] != nil:
		_ = json.Unmarshal(n["type"], &types, Foreign) // what is no list names none
		slices.SortStableFunc(types, func(a, b string) int { return last(a) - last(b) })
		return slices.Compact(types)
	case n["properties"] != nil:
		return []string{"object"}
	case n["items"] != nil:
		return []string{"array"}
	}
	return nil
}

// last sorts null behind the others.
func last(name string) int {
	if name == "null" {
		return 1
	}
	return 0
}

// nullable reports whether types are a scalar's and null, which every vendor knows as a list.
func nullable(types []string) bool {
	return len(types) == 2 && types[1] == "null" && types[0] != "object" && types[0] != "array"
}

// EnumOf returns the values that a schema allows by enum or const, and that its type does not forbid.
func EnumOf(n Object) (values []jsontext.Value, ok bool) {
	if values, ok = List(n["enum"]); !ok {
		if n["const"] == nil {
			return nil, false
		}
		values = []jsontext.Value{n["const"]}
	}
	types := typesOf(n)
	kept := make([]jsontext.Value, 0, len(values))
	for _, v := range values {
		again := slices.ContainsFunc(kept, func(o jsontext.Value) bool { return string(o) == string(v) })
		if !again && (len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return isA(v, name) })) {
			kept = append(kept, v)
		}
	}
	return kept, true
}

func isA(v jsontext.Value, name string) bool {
	kind := kindOf(v)
	return kind == name || name == "number" && kind == "integer" || name == "integer" && kind == "number"
}

func kindOf(v jsontext.Value) string {
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

// Enumerated returns schemas that allow the values, one for each type of them: vendors want enums with a type.
func Enumerated(values []jsontext.Value) []Object {
	var names []string
	by := map[string][]jsontext.Value{}
	for _, v := range values {
		name := kindOf(v)
		if name == "number" || name == "integer" {
			name = "number"
		}
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], v)
	}
	slices.SortStableFunc(names, func(a, b string) int { return last(a) - last(b) })
	out := make([]Object, len(names))
	for i, name := range names {
		out[i] = typed(name, by[name])
	}
	return out
}

func typed(name string, values []jsontext.Value) Object {
	if name == "null" {
		return Object{"type": Quote(name)}
	}
	if name == "number" && !slices.ContainsFunc(values, func(v jsontext.Value) bool { return kindOf(v) == "number" }) {
		name = "integer"
	}
	return Object{"type": Quote(name), "enum": Write(values, nil)}
}
