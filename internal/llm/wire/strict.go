package wire

import (
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Subset is how much of JSON Schema a vendor can hold the decoding of an answer to. All of them know closed objects,
// arrays of one kind of item, enums of scalars, anyOf, and definitions that are referred to.
type Subset struct {
	Recursive  bool // a schema may refer to itself
	Empty      bool // objects may have no properties
	Optional   int  // so many properties may be left out
	Unions     int  // so many schemas may be a choice
	Levels     int  // objects and arrays within each other
	Properties int
	Values     int // of all enums
	Text       int // bytes of the names of properties and definitions, and of the values of enums
}

// OpenAI is the subset of strict schemas at OpenAI (developers.openai.com, guide "Structured model outputs", section
// "Supported schemas").
func OpenAI() Subset {
	return Subset{Recursive: true, Empty: true, Unions: math.MaxInt, Levels: 10, Properties: 5000, Values: 1000, Text: 120_000}
}

// Anthropic is the subset of output_config.format (platform.claude.com, "Structured outputs", sections "JSON Schema
// limitations" and "Schema complexity limits"). It knows more than is used of it: allOf asks closed objects for the
// impossible.
func Anthropic() Subset {
	return Subset{Optional: 24, Unions: 16, Levels: math.MaxInt, Properties: math.MaxInt, Values: math.MaxInt, Text: math.MaxInt}
}

// The values of an enum of many strings may have so many bytes in all.
const (
	manyValues    = 250
	manyValueText = 15_000
)

// Hold returns a schema written so that it stays within the subset, and whether it can be. All that fits it fits raw,
// but for what counts and measures, which its descriptions say.
func (s Subset) Hold(raw jsontext.Value) (schema jsontext.Value, ok bool) {
	raw = Unmeasured(raw)
	root, ok := ReadObject(raw)
	if !ok || !s.Recursive && Cyclic(root, false) {
		return nil, false
	}
	h := holder{Subset: s, root: root}
	out := h.object(root, 1, true)
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := ReadObject(root[key]); ok {
			out[key] = h.named(defs, 1)
		}
	}
	object := string(out["type"]) == `"object"` // a choice at the root is refused, too
	return Write(out, nil), !h.beyond && object && h.within()
}

// holder writes the schemas of one root.
type holder struct {
	Subset
	root                                       Object
	beyond                                     bool // something cannot be said
	optional, unions, properties, values, text int
}

func (h *holder) within() bool {
	return h.optional <= h.Optional && h.unions <= h.Unions && h.properties <= h.Properties && h.values <= h.Values && h.text <= h.Text
}

// refused are the keywords that ask for what no decoder is held to.
var refused = []string{
	"allOf", "contains", "dependentRequired", "dependentSchemas", "dependencies", "else", "if", "not", "oneOf", "patternProperties",
	"prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef",
}

func (h *holder) schema(v jsontext.Value, level int) jsontext.Value {
	n, ok := ReadObject(v)
	if !ok { // true and false are schemas, too
		h.beyond = true
		return v
	}
	return Write(h.object(n, level, false), v)
}

func (h *holder) object(n Object, level int, root bool) Object {
	n = onlyPart(n)
	h.beyond = h.beyond || n["$id"] != nil && !root
	for _, key := range refused {
		h.beyond = h.beyond || n[key] != nil
	}
	out := Object{}
	for _, key := range []string{"title", "description"} {
		if v, ok := n[key]; ok {
			out[key] = v
		}
	}
	switch values, isEnum := EnumOf(n); {
	case n["$ref"] != nil:
		return h.reference(n)
	case n["anyOf"] != nil:
		h.choice(n, out, level)
	case isEnum:
		h.enum(out, values)
	default:
		h.kinds(n, out, level)
	}
	return out
}

// onlyPart puts the only part of allOf in its place, as some write a reference with a description.
func onlyPart(n Object) Object {
	list, _ := List(n["allOf"])
	if len(list) != 1 || !onlyRemarks(n, "allOf") {
		return n
	}
	part, ok := ReadObject(list[0])
	if !ok {
		return n
	}
	for _, key := range []string{"description", "$defs", "definitions", "$id"} {
		if v, has := n[key]; has {
			part[key] = v
		}
	}
	return part
}

// onlyRemarks reports whether a schema says nothing of a value but by the keyword.
func onlyRemarks(n Object, but string) bool {
	for _, key := range append([]string{
		"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "properties", "required", "type",
	}, refused...) {
		if n[key] != nil && key != but {
			return false
		}
	}
	return true
}

// reference is one to a definition at the root; beside it nothing may stand.
func (h *holder) reference(n Object) Object {
	ref := Plain(n["$ref"])
	_, known := llm.ResolveRef(h.root, ref)
	_, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	placed := ref == "#" || strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")
	h.beyond = h.beyond || !known || !placed || strings.Contains(name, "/") || !onlyRemarks(n, "$ref")
	return Object{"$ref": n["$ref"]}
}

func (h *holder) choice(n, out Object, level int) {
	list, ok := List(n["anyOf"])
	h.beyond = h.beyond || !ok || len(list) == 0 || !onlyRemarks(n, "anyOf")
	for i, v := range list {
		list[i] = h.schema(v, level)
	}
	out["anyOf"] = Write(list, n["anyOf"])
	h.unions++
}

// kinds writes a schema of types. One of several is a choice.
func (h *holder) kinds(n, out Object, level int) {
	types := typesOf(n)
	if nullable(types) {
		h.kind(n, out, types[0], level)
		out["type"] = Write(types, n["type"])
		h.unions++
		return
	}
	switch len(types) {
	case 0:
		h.beyond = true
	case 1:
		h.kind(n, out, types[0], level)
	default:
		variants := make([]Object, len(types))
		for i, name := range types {
			variants[i] = Object{}
			h.kind(n, variants[i], name, level)
		}
		out["anyOf"] = Write(variants, nil)
		h.unions++
	}
}

func (h *holder) kind(n, out Object, name string, level int) {
	out["type"] = Quote(name)
	h.beyond = h.beyond || level > h.Levels && (name == "object" || name == "array")
	switch name {
	case "object":
		h.members(n, out, level)
	case "array":
		h.beyond = h.beyond || n["items"] == nil
		out["items"] = h.schema(n["items"], level+1)
	}
}

// members closes an object that names what is in it and says nothing of anything else.
func (h *holder) members(n, out Object, level int) {
	properties, _ := ReadObject(n["properties"])
	required := []string{}
	if n["required"] != nil && json.Unmarshal(n["required"], &required, Foreign) != nil {
		h.beyond = true
	}
	for _, name := range required {
		h.beyond = h.beyond || properties[name] == nil
	}
	slices.Sort(required)
	required = slices.Compact(required)
	switch open := n["additionalProperties"]; {
	case string(open) == "false" && (len(properties) > 0 || h.Empty):
	case open == nil && len(properties) > 0:
	default:
		h.beyond = true
	}
	h.optional += len(properties) - len(required)
	h.properties += len(properties)
	out["properties"] = h.named(properties, level+1)
	if len(required) > 0 || h.Optional == 0 {
		out["required"] = Write(required, nil)
	}
	out["additionalProperties"] = jsontext.Value("false")
}

func (h *holder) named(all Object, level int) jsontext.Value {
	out := Object{}
	for name, v := range all {
		h.text += len(name)
		out[name] = h.schema(v, level)
	}
	return Write(out, nil)
}

func (h *holder) enum(out Object, values []jsontext.Value) {
	length := 0
	for _, v := range values {
		h.beyond = h.beyond || v.Kind() == '{' || v.Kind() == '['
		length += len(v)
	}
	h.beyond = h.beyond || len(values) == 0 || len(values) > manyValues && length > manyValueText
	h.values += len(values)
	h.text += length
	choices := Enumerated(values)
	if len(choices) > 1 {
		out["anyOf"] = Write(choices, nil)
		h.unions++
		return
	}
	for _, only := range choices {
		for name, v := range only {
			out[name] = v
		}
	}
}
