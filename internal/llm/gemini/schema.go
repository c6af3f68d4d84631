package gemini

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The limits of expanding references, because a recursive schema has no finite expansion.
const (
	maxDepth   = 12
	maxSchemas = 4096
)

// encodeSchema converts a JSON Schema to the vendor's own kind of schema, which has no references, no null type, no
// lists of types, and enums of strings only. The vendor refuses unknown members, so all others are dropped. It returns
// nil for an object without properties.
func encodeSchema(raw jsontext.Value) jsontext.Value {
	root, ok := wire.ReadObject(raw)
	if !ok {
		return nil
	}
	p := &schemaEncoder{root: root, defs: map[string]wire.Object{}, left: maxSchemas}
	out := p.encodeObject(root, 0)
	if properties, ok := wire.ReadObject(out["properties"]); wire.DecodeString(out["type"]) == "object" &&
		(!ok || len(properties) == 0) {
		return nil
	}
	return wire.MarshalOr(out, nil)
}

type schemaEncoder struct {
	root wire.Object
	defs map[string]wire.Object // by reference
	left int                    // schemas that may still be expanded
}

func (p *schemaEncoder) resolveRef(ref string) wire.Object {
	target, isResolved := p.defs[ref]
	if !isResolved {
		target, _ = llm.ResolveRef(p.root, ref)
		p.defs[ref] = target
	}
	return target
}

// keptKeywords are the members with the same meaning for the vendor.
var keptKeywords = []string{"description", "nullable", "minLength"}

// keptFormats are the formats that the vendor supports.
var keptFormats = []string{"date-time", "enum", "float", "double", "int32", "int64"}

func (p *schemaEncoder) encode(v jsontext.Value, depth int) jsontext.Value {
	n, ok := wire.ReadObject(v)
	if !ok || p.left <= 0 { // true and false are schemas as well
		return jsontext.Value(`{"type":"string"}`)
	}
	return wire.MarshalOr(p.encodeObject(n, depth), jsontext.Value(`{"type":"string"}`))
}

// encodeObject returns the schema n in the subset that Gemini accepts. What the subset cannot express is left out: the
// schema then accepts more, and the call's input is checked against the original one.
func (p *schemaEncoder) encodeObject(n wire.Object, depth int) wire.Object {
	// Resolve references, then copy the keywords that Gemini knows.
	n = p.resolve(n, depth)
	out := wire.Object{}
	for _, key := range keptKeywords {
		if v, ok := n[key]; ok {
			out[key] = v
		}
	}
	if f := wire.DecodeString(n["format"]); slices.Contains(keptFormats, f) {
		out["format"] = n["format"]
	}
	// Choices and types are rewritten. Below the greatest depth, anything is accepted.
	p.encodeChoices(n, out, depth)
	p.encodeType(n, out)
	if depth >= maxDepth {
		return out
	}
	switch wire.DecodeString(out["type"]) {
	case "object":
		p.encodeProperties(n, out, depth)
	// Gemini requires items, with a type. The first item of a tuple stands for all.
	case "array":
		out["items"] = jsontext.Value(`{"type":"string"}`)
		if items, ok := wire.ReadObject(n["items"]); ok && len(items) > 0 {
			out["items"] = p.encode(n["items"], depth+1)
		} else if list, ok := wire.ReadList(n["items"]); ok && len(list) > 0 {
			out["items"] = p.encode(list[0], depth+1)
		}
		if item, _ := wire.ReadObject(out["items"]); item["type"] == nil && item["anyOf"] == nil {
			item["type"] = jsontext.Value(`"string"`)
			out["items"] = wire.MarshalOr(item, out["items"])
		}
	}
	return out
}

// resolve replaces a reference by its target and adds the parts of allOf. The members of n take precedence.
func (p *schemaEncoder) resolve(n wire.Object, depth int) wire.Object {
	p.left--
	for hops := 0; n["$ref"] != nil && hops < maxDepth; hops++ {
		n = mergeMembers(n, p.resolveRef(wire.DecodeString(n["$ref"])), "$ref")
	}
	list, _ := wire.ReadList(n["allOf"])
	n = mergeMembers(n, nil, "allOf")
	for _, v := range list {
		if part, ok := wire.ReadObject(v); ok && depth < maxDepth && p.left > 0 {
			n = mergeSchemas(n, p.resolve(part, depth+1))
		}
	}
	return n
}

// mergeMembers returns n without the member drop, and with the members of more that it does not have.
func mergeMembers(n, more wire.Object, drop string) wire.Object {
	out := maps.Clone(more)
	if out == nil {
		out = wire.Object{}
	}
	for name, v := range n {
		if name != drop {
			out[name] = v
		}
	}
	return out
}

// mergeSchemas joins two schemas that both apply: their properties and required names add up.
func mergeSchemas(a, b wire.Object) wire.Object {
	out := mergeMembers(a, b, "")
	own, _ := wire.ReadObject(a["properties"])
	others, _ := wire.ReadObject(b["properties"])
	if len(own)+len(others) > 0 {
		out["properties"] = wire.MarshalOr(mergeMembers(own, others, ""), nil)
	}
	first, _ := wire.ReadList(a["required"])
	second, _ := wire.ReadList(b["required"])
	if len(first)+len(second) > 0 {
		out["required"] = wire.MarshalOr(append(first, second...), nil)
	}
	return out
}

// encodeChoices converts anyOf and oneOf to anyOf, and a null variant to nullable. A single variant replaces the
// choice.
func (p *schemaEncoder) encodeChoices(n, out wire.Object, depth int) {
	list, ok := wire.ReadList(n["anyOf"])
	if !ok {
		list, ok = wire.ReadList(n["oneOf"])
	}
	if !ok || depth >= maxDepth {
		return
	}
	var variants []jsontext.Value
	for _, v := range list {
		if variant, _ := wire.ReadObject(v); wire.DecodeString(variant["type"]) == "null" {
			out["nullable"] = jsontext.Value("true")
			continue
		}
		variants = append(variants, p.encode(v, depth+1))
	}
	if len(variants) == 1 {
		only, _ := wire.ReadObject(variants[0])
		for name, v := range only {
			if out[name] == nil {
				out[name] = v
			}
		}
		return
	}
	if len(variants) > 1 {
		out["anyOf"] = wire.MarshalOr(variants, nil)
	}
}

// encodeType sets type and enum. A list of types becomes a choice; null in it becomes nullable.
func (p *schemaEncoder) encodeType(n, out wire.Object) {
	// An enum, or a const as an enum of one, consists of texts; null in it becomes nullable.
	values, isEnum := wire.ReadList(n["enum"])
	if v, ok := n["const"]; ok && !isEnum {
		values, isEnum = []jsontext.Value{v}, true
	}
	if isEnum {
		out["type"], out["enum"] = jsontext.Value(`"string"`), enumStrings(values)
		if slices.ContainsFunc(values, func(v jsontext.Value) bool { return v.Kind() == 'n' }) {
			out["nullable"] = jsontext.Value("true")
		}
		return
	}
	// Read the type: a list of names, or one.
	var types []string
	if json.Unmarshal(n["type"], &types) != nil {
		types = nil
		if name := wire.DecodeString(n["type"]); name != "" {
			types = []string{name}
		}
	}
	// null is not a type of Gemini's.
	if slices.Contains(types, "null") {
		out["nullable"] = jsontext.Value("true")
		types = slices.DeleteFunc(types, func(s string) bool { return s == "null" })
	}
	// One type is itself; several become a choice. A missing type is derived from what the schema describes.
	switch {
	case len(types) == 1:
		out["type"] = wire.Quote(types[0])
	case len(types) > 1 && out["anyOf"] == nil:
		var variants []wire.Object
		for _, name := range types {
			variants = append(variants, mergeMembers(wire.Object{"type": wire.Quote(name)}, itemsOf(name), ""))
		}
		out["anyOf"] = wire.MarshalOr(variants, nil)
	case out["type"] == nil && out["anyOf"] == nil && n["properties"] != nil:
		out["type"] = jsontext.Value(`"object"`)
	case out["type"] == nil && out["anyOf"] == nil && n["items"] != nil:
		out["type"] = jsontext.Value(`"array"`)
	}
}

// itemsOf returns the member that a variant of that type requires.
func itemsOf(name string) wire.Object {
	if name == "array" {
		return wire.Object{"items": jsontext.Value(`{"type":"string"}`)}
	}
	return nil
}

// enumStrings returns the values of an enum as strings.
func enumStrings(values []jsontext.Value) jsontext.Value {
	out := make([]jsontext.Value, 0, len(values))
	for _, v := range values {
		switch v.Kind() {
		case '"':
			out = append(out, v)
		case 'n':
		default:
			out = append(out, wire.Quote(strings.TrimSpace(string(v))))
		}
	}
	return wire.MarshalOr(out, nil)
}

func (p *schemaEncoder) encodeProperties(n, out wire.Object, depth int) {
	members, ok := wire.ReadObject(n["properties"])
	if !ok {
		return
	}
	for name, v := range members {
		members[name] = p.encode(v, depth+1)
	}
	out["properties"] = wire.MarshalOr(members, nil)
	var required []string
	if json.Unmarshal(n["required"], &required) != nil {
		return
	}
	required = slices.DeleteFunc(required, func(name string) bool { _, ok := members[name]; return !ok })
	if len(required) > 0 {
		out["required"] = wire.MarshalOr(required, nil)
	}
}
