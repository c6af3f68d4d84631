package llm

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is one JSON Schema that is an object, its members as they stand.
type Schema = map[string]jsontext.Value

// Within puts what change makes of them in the place of the schemas that stand right inside of s. What stands where a
// schema should and is none, is left as it is.
func Within(s Schema, change func(jsontext.Value) jsontext.Value) {
	for key, child := range s {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			s[key] = members(child, change)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			s[key] = elements(child, change)
		case "items":
			if child.Kind() == '[' {
				s[key] = elements(child, change)
				continue
			}
			s[key] = change(child)
		case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
			s[key] = change(child)
		}
	}
}

var lax = json.JoinOptions(json.Deterministic(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func members(v jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	var all Schema
	if json.Unmarshal(v, &all, lax) != nil {
		return v
	}
	for name, child := range all {
		all[name] = change(child)
	}
	return written(all, v)
}

func elements(v jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	var all []jsontext.Value
	if json.Unmarshal(v, &all, lax) != nil || all == nil {
		return v
	}
	for i := range all {
		all[i] = change(all[i])
	}
	return written(all, v)
}

func written(x any, otherwise jsontext.Value) jsontext.Value {
	out, err := json.Marshal(x, lax)
	if err != nil {
		return otherwise
	}
	return out
}

// At returns what a reference of the kind "#" or "#/$defs/name" leads to in root; false if there is no schema there.
func At(root Schema, ref string) (Schema, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if pointer == "" && local {
		return root, true
	}
	pointer, ok := strings.CutPrefix(pointer, "/")
	if path, err := url.PathUnescape(pointer); err == nil {
		pointer = path
	}
	at := written(root, nil)
	for _, token := range strings.Split(pointer, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		at = member(at, token)
	}
	var s Schema
	return s, local && ok && at.Kind() == '{' && json.Unmarshal(at, &s, lax) == nil
}

// member returns what stands under a name, or a number, in v; nil for nothing.
func member(v jsontext.Value, name string) jsontext.Value {
	var list []jsontext.Value
	if n, err := strconv.Atoi(name); v.Kind() == '[' && err == nil && json.Unmarshal(v, &list, lax) == nil && n >= 0 && n < len(list) {
		return list[n]
	}
	var all Schema
	if v.Kind() != '{' || json.Unmarshal(v, &all, lax) != nil {
		return nil
	}
	return all[name]
}
