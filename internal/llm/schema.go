package llm

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is a JSON Schema that is an object, with undecoded members.
type Schema = map[string]jsontext.Value

// ReplaceSubschemas replaces each direct subschema of s by the result of change. A keyword whose value does not have
// the form that JSON Schema requires stays as it is.
func ReplaceSubschemas(s Schema, change func(jsontext.Value) jsontext.Value) {
	for key, child := range s {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			s[key] = replaceMembers(child, change)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			s[key] = replaceElements(child, change)
		case "items":
			if child.Kind() == '[' {
				s[key] = replaceElements(child, change)
				continue
			}
			s[key] = change(child)
		case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
			"unevaluatedProperties":
			s[key] = change(child)
		}
	}
}

var lax = json.JoinOptions(
	json.Deterministic(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
)

func replaceMembers(v jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	var all Schema
	if json.Unmarshal(v, &all, lax) != nil {
		return v
	}
	for name, child := range all {
		all[name] = change(child)
	}
	return marshalOr(all, v)
}

func replaceElements(v jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	var all []jsontext.Value
	if json.Unmarshal(v, &all, lax) != nil || all == nil {
		return v
	}
	for i := range all {
		all[i] = change(all[i])
	}
	return marshalOr(all, v)
}

// marshalOr returns x as JSON, or fallback if x cannot be encoded.
func marshalOr(x any, fallback jsontext.Value) jsontext.Value {
	out, err := json.Marshal(x, lax)
	if err != nil {
		return fallback
	}
	return out
}

// ResolveRef returns the schema that a local reference ("#" or "#/$defs/name") points to in root; false if there is
// none.
func ResolveRef(root Schema, ref string) (Schema, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if pointer == "" && local {
		return root, true
	}
	pointer, ok := strings.CutPrefix(pointer, "/")
	if path, err := url.PathUnescape(pointer); err == nil {
		pointer = path
	}
	at := marshalOr(root, nil)
	for _, token := range strings.Split(pointer, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		at = lookupMember(at, token)
	}
	var s Schema
	return s, local && ok && at.Kind() == '{' && json.Unmarshal(at, &s, lax) == nil
}

// lookupMember returns the member of an object, or the element of an array, that name selects; nil if it is missing.
func lookupMember(v jsontext.Value, name string) jsontext.Value {
	var list []jsontext.Value
	if n, err := strconv.Atoi(name); v.Kind() == '[' && err == nil && json.Unmarshal(v, &list, lax) == nil && n >= 0 &&
		n < len(list) {
		return list[n]
	}
	var all Schema
	if v.Kind() != '{' || json.Unmarshal(v, &all, lax) != nil {
		return nil
	}
	return all[name]
}
