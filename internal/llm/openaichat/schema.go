package openaichat

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// node is one JSON Schema object.
type node map[string]jsontext.Value

const anyObject = `{"type":"object","properties":{}}`

// schema narrows a tool's schema to what the vendor accepts (spec/v2 §20.1 LM-7). A schema that needs no change is
// passed byte for byte; one that is not a JSON object becomes an object of anything.
func (d Dialect) schema(raw jsontext.Value) jsontext.Value {
	if raw.Kind() != '{' || !raw.IsValid(foreign) {
		return jsontext.Value(anyObject)
	}
	if bytes.Contains(raw, []byte(`"null"`)) {
		raw = rewrite(raw, dropNull)
	}
	raw = objectRoot(raw)
	if d.Schema == SchemaMoonshot {
		raw = rewrite(raw, moonshot)
	}
	return raw
}

// rewrite applies change to every schema in v, innermost first.
func rewrite(v jsontext.Value, change func(node) node) jsontext.Value {
	var n node
	if v.Kind() != '{' || json.Unmarshal(v, &n, foreign) != nil {
		return v
	}
	for key, child := range n {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			n[key] = rewriteMembers(child, change)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			n[key] = rewriteList(child, change)
		case "items":
			if child.Kind() == '[' {
				n[key] = rewriteList(child, change)
				continue
			}
			n[key] = rewrite(child, change)
		case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems":
			n[key] = rewrite(child, change)
		}
	}
	return write(change(n), v)
}

func rewriteMembers(v jsontext.Value, change func(node) node) jsontext.Value {
	var members node
	if json.Unmarshal(v, &members, foreign) != nil {
		return v
	}
	for name, child := range members {
		members[name] = rewrite(child, change)
	}
	return write(members, v)
}

func rewriteList(v jsontext.Value, change func(node) node) jsontext.Value {
	list, ok := variants(v)
	if !ok {
		return v
	}
	for i := range list {
		list[i] = rewrite(list[i], change)
	}
	return write(list, v)
}

// write returns x as JSON, or instead when it cannot be written.
func write(x any, instead jsontext.Value) jsontext.Value {
	out, err := json.Marshal(x, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return instead
	}
	return out
}

func variants(v jsontext.Value) ([]jsontext.Value, bool) {
	var list []jsontext.Value
	return list, json.Unmarshal(v, &list, foreign) == nil && list != nil
}

// dropNull removes the null variant of a choice, and the choice when one variant is left.
func dropNull(n node) node {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := variants(n[key])
		if !ok {
			continue
		}
		var kept []jsontext.Value
		for _, v := range list {
			var child node
			if json.Unmarshal(v, &child, foreign) == nil && len(child) == 1 && string(child["type"]) == `"null"` {
				continue
			}
			kept = append(kept, v)
		}
		switch {
		case len(kept) == len(list) || len(kept) == 0:
		case len(kept) == 1:
			n = inline(n, key, kept[0])
		default:
			n[key] = write(kept, n[key])
		}
	}
	return n
}

// inline puts the only variant in the place of the choice; what stands beside the choice wins.
func inline(n node, key string, only jsontext.Value) node {
	var child node
	if json.Unmarshal(only, &child, foreign) != nil {
		return n
	}
	delete(n, key)
	for k, v := range child {
		if _, ok := n[k]; !ok {
			n[k] = v
		}
	}
	return n
}

// objectRoot makes the root an object. The properties of a root choice are merged, so that the model still sees them.
func objectRoot(raw jsontext.Value) jsontext.Value {
	var n node
	if json.Unmarshal(raw, &n, foreign) != nil {
		return jsontext.Value(anyObject)
	}
	_, isChoice := n["anyOf"]
	if string(n["type"]) == `"object"` && !isChoice {
		return raw
	}
	if list, ok := variants(n["anyOf"]); ok {
		n["properties"] = mergedProperties(n["properties"], list)
		n["additionalProperties"] = jsontext.Value("false")
		delete(n, "anyOf")
	}
	n["type"] = jsontext.Value(`"object"`)
	if n["properties"] == nil {
		n["properties"] = jsontext.Value("{}")
	}
	return write(n, raw)
}

func mergedProperties(own jsontext.Value, list []jsontext.Value) jsontext.Value {
	merged := node{}
	for _, v := range append([]jsontext.Value{[]byte(`{"properties":` + orEmpty(own) + `}`)}, list...) {
		var child struct {
			Properties node `json:"properties"`
		}
		if json.Unmarshal(v, &child, foreign) != nil {
			continue
		}
		for name, p := range child.Properties {
			if _, ok := merged[name]; !ok {
				merged[name] = p
			}
		}
	}
	return write(merged, jsontext.Value("{}"))
}

func orEmpty(v jsontext.Value) string {
	if v == nil {
		return "{}"
	}
	return string(v)
}

// moonshot drops what Kimi's endpoints refuse: siblings of $ref, tuples, unevaluatedItems.
func moonshot(n node) node {
	if ref, ok := n["$ref"]; ok {
		return node{"$ref": ref}
	}
	for _, key := range []string{"prefixItems", "items"} {
		if list, ok := variants(n[key]); ok {
			delete(n, key)
			if len(list) > 0 {
				n["items"] = list[0]
			}
		}
	}
	delete(n, "unevaluatedItems")
	return n
}
