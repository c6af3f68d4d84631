package tool

import (
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// coerceValue converts v, and the values in it, to the types of the schema if that loses nothing: a number or boolean
// in a string, a list or object as JSON text in a string, a number for a string, null for an optional key. Other values
// stay as they are and fail the check. Keys that the schema does not name stay as they are.
func coerceValue(s *jsonschema.Schema, v jsontext.Value) jsontext.Value {
	if s == nil {
		return v
	}
	if !hasAllowedType(s, v) {
		v = convertType(s, v)
	} else if v.Kind() == '"' {
		v = coerceEnum(s, v)
	}
	switch {
	case v.Kind() == '{' && len(s.Properties) > 0:
		return coerceObject(s, v)
	case v.Kind() == '[' && s.Items != nil:
		return coerceArray(s, v)
	default:
		return v
	}
}

func coerceObject(s *jsonschema.Schema, v jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return v
	}
	changed := false
	for key, sub := range s.Properties {
		member, ok := members[key]
		if !ok {
			continue
		}
		if member.Kind() == 'n' && !hasAllowedType(sub, member) && !slices.Contains(s.Required, key) {
			delete(members, key)
			changed = true
			continue
		}
		if fixed := coerceValue(sub, member); string(fixed) != string(member) {
			members[key] = fixed
			changed = true
		}
	}
	if !changed {
		return v
	}
	return encodeOr(members, v)
}

func coerceArray(s *jsonschema.Schema, v jsontext.Value) jsontext.Value {
	var items []jsontext.Value
	if json.Unmarshal(v, &items) != nil {
		return v
	}
	changed := false
	for i, item := range items {
		if fixed := coerceValue(s.Items, item); string(fixed) != string(item) {
			items[i] = fixed
			changed = true
		}
	}
	if !changed {
		return v
	}
	return encodeOr(items, v)
}

func encodeOr(value any, otherwise jsontext.Value) jsontext.Value {
	out, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return otherwise
	}
	return out
}

// hasAllowedType reports whether the schema allows the type of v.
func hasAllowedType(s *jsonschema.Schema, v jsontext.Value) bool {
	want := allowedTypes(s)
	if want[0] == "any" {
		return true
	}
	got := typeOf(v)
	return slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number")
}

// convertType converts v to the first type of the schema that loses nothing; else it returns v.
func convertType(s *jsonschema.Schema, v jsontext.Value) jsontext.Value {
	var text string
	if v.Kind() == '"' && json.Unmarshal(v, &text) != nil {
		return v
	}
	for _, want := range allowedTypes(s) {
		switch {
		case v.Kind() == '"' && want != "string" && want != "null":
			inner := jsontext.Value(strings.TrimSpace(text))
			if inner.IsValid() && inner.Kind() != '"' && hasAllowedType(s, toInteger(inner)) {
				return toInteger(inner)
			}
		case want == "integer" && v.Kind() == '0':
			return toInteger(v)
		case want == "string" && (v.Kind() == '0' || v.Kind() == 't' || v.Kind() == 'f'):
			out, err := json.Marshal(string(v))
			if err == nil {
				return out
			}
		}
	}
	return v
}

// coerceEnum returns the enum or const value whose JSON text a string contains: some vendors only support enums of
// strings. A string that is itself a value is returned as it is.
func coerceEnum(s *jsonschema.Schema, v jsontext.Value) jsontext.Value {
	values := s.Enum
	if s.Const != nil {
		values = append(slices.Clip(values), *s.Const)
	}
	var text string
	if len(values) == 0 || json.Unmarshal(v, &text) != nil {
		return v
	}
	for _, value := range values {
		if word, ok := value.(string); ok && word == text {
			return v
		}
	}
	for _, value := range values {
		if raw := encodeOr(value, nil); raw != nil && string(raw) == text {
			return raw
		}
	}
	return v
}

// toInteger writes an integral number such as 5.0 or 1e3 as an integer. Others, and those with an exponent of more than
// three digits, are returned as they are.
func toInteger(v jsontext.Value) jsontext.Value {
	if v.Kind() != '0' || len(v) > 20 || !strings.ContainsAny(string(v), ".eE") {
		return v
	}
	if i := strings.IndexAny(string(v), "eE"); i >= 0 && len(v)-i > 4 {
		return v
	}
	r, ok := new(big.Rat).SetString(string(v))
	if !ok || !r.IsInt() {
		return v
	}
	return jsontext.Value(r.Num().String())
}

// typeOf returns the JSON Schema type of v. A number without fraction and exponent is an integer.
func typeOf(v jsontext.Value) string {
	switch v.Kind() {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	}
}
