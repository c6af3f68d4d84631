package wire

import (
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// SchemaSubset is the part of JSON Schema that a vendor's constrained decoding supports. Every vendor supports closed
// objects, arrays with one item schema, enums of scalars, anyOf, and references to definitions.
type SchemaSubset struct {
	Recursive  bool // schemas may refer to themselves
	Empty      bool // objects may have no properties
	Optional   int  // maximum of optional properties
	Unions     int  // maximum of choices
	Levels     int  // maximum depth of objects and arrays
	Properties int  // maximum of properties
	Values     int  // maximum of enum values
	Text       int  // maximum bytes of names and enum values
}

// OpenAISubset is the subset of OpenAI's strict schemas (developers.openai.com, guide "Structured model outputs",
// section "Supported schemas").
func OpenAISubset() SchemaSubset {
	return SchemaSubset{
		Recursive: true, Empty: true, Unions: math.MaxInt, Levels: 10, Properties: 5000, Values: 1000, Text: 120_000,
	}
}

// AnthropicSubset is the subset of output_config.format (platform.claude.com, "Structured outputs", sections "JSON
// Schema limitations" and "Schema complexity limits"). Anthropic also supports allOf, but closed objects in it can
// never be satisfied.
func AnthropicSubset() SchemaSubset {
	return SchemaSubset{
		Optional: 24, Unions: 16, Levels: math.MaxInt, Properties: math.MaxInt, Values: math.MaxInt, Text: math.MaxInt,
	}
}

// An enum of more than manyValues values may have at most manyValueText bytes.
const (
	manyValues    = 250
	manyValueText = 15_000
)

// FitSchema rewrites a schema so that it stays within the subset, and reports whether that is possible. Every value
// that the result accepts is valid under raw, except for the limits that become descriptions.
func (s SchemaSubset) FitSchema(raw jsontext.Value) (schema jsontext.Value, ok bool) {
	raw = DescribeLimits(raw)
	root, ok := ReadObject(raw)
	if !ok || !s.Recursive && IsCyclic(root, false) {
		return nil, false
	}
	h := schemaFilter{SchemaSubset: s, root: root}
	out := h.filterObject(root, 1, true)
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := ReadObject(root[key]); ok {
			out[key] = h.filterNamed(defs, 1)
		}
	}
	object := string(out["type"]) == `"object"` // vendors also refuse a choice at the root
	return MarshalOr(out, nil), !h.unsupported && object && h.isWithinLimits()
}

// schemaFilter rewrites the schemas of one root.
type schemaFilter struct {
	SchemaSubset
	root                                       Object
	unsupported                                bool // a part of the schema is outside the subset
	optional, unions, properties, values, text int
}

func (h *schemaFilter) isWithinLimits() bool {
	return h.optional <= h.Optional && h.unions <= h.Unions && h.properties <= h.Properties && h.values <= h.Values &&
		h.text <= h.Text
}

// unsupportedKeywords are keywords that no vendor's decoding enforces.
var unsupportedKeywords = []string{
	"allOf", "contains", "dependentRequired", "dependentSchemas", "dependencies", "else", "if", "not", "oneOf",
	"patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	"$dynamicRef",
}

func (h *schemaFilter) filterSchema(v jsontext.Value, level int) jsontext.Value {
	n, ok := ReadObject(v)
	if !ok { // true and false are schemas as well
		h.unsupported = true
		return v
	}
	return MarshalOr(h.filterObject(n, level, false), v)
}

func (h *schemaFilter) filterObject(n Object, level int, root bool) Object {
	// Note what the subset cannot express; the caller then does without strict mode.
	n = inlineSingleAllOf(n)
	h.unsupported = h.unsupported || n["$id"] != nil && !root
	for _, key := range unsupportedKeywords {
		h.unsupported = h.unsupported || n[key] != nil
	}
	// Keep what describes, then the one thing that constrains.
	out := Object{}
	for _, key := range []string{"title", "description"} {
		if v, ok := n[key]; ok {
			out[key] = v
		}
	}
	switch values, isEnum := EnumValues(n); {
	case n["$ref"] != nil:
		return h.filterReference(n)
	case n["anyOf"] != nil:
		h.filterChoice(n, out, level)
	case isEnum:
		h.filterEnum(out, values)
	default:
		h.filterTypes(n, out, level)
	}
	return out
}

// inlineSingleAllOf replaces an allOf with one part by that part: some generators write a reference with a description
// this way.
func inlineSingleAllOf(n Object) Object {
	list, _ := ReadList(n["allOf"])
	if len(list) != 1 || !hasOnlyAnnotations(n, "allOf") {
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

// hasOnlyAnnotations reports whether no keyword of a schema except one constrains values.
func hasOnlyAnnotations(n Object, except string) bool {
	for _, key := range append([]string{
		"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "properties", "required", "type",
	}, unsupportedKeywords...) {
		if n[key] != nil && key != except {
			return false
		}
	}
	return true
}

// filterReference keeps a reference to a definition at the root. No constraint may stand next to it.
func (h *schemaFilter) filterReference(n Object) Object {
	ref := DecodeString(n["$ref"])
	_, exists := llm.ResolveRef(h.root, ref)
	_, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	isDefinition := ref == "#" || strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")
	h.unsupported = h.unsupported || !exists || !isDefinition || strings.Contains(name, "/") ||
		!hasOnlyAnnotations(n, "$ref")
	return Object{"$ref": n["$ref"]}
}

func (h *schemaFilter) filterChoice(n, out Object, level int) {
	list, ok := ReadList(n["anyOf"])
	h.unsupported = h.unsupported || !ok || len(list) == 0 || !hasOnlyAnnotations(n, "anyOf")
	for i, v := range list {
		list[i] = h.filterSchema(v, level)
	}
	out["anyOf"] = MarshalOr(list, n["anyOf"])
	h.unions++
}

// filterTypes rewrites a schema with types. Several types become a choice.
func (h *schemaFilter) filterTypes(n, out Object, level int) {
	types := typesOf(n)
	if isNullableScalar(types) {
		h.filterType(n, out, types[0], level)
		out["type"] = MarshalOr(types, n["type"])
		h.unions++
		return
	}
	switch len(types) {
	case 0:
		h.unsupported = true
	case 1:
		h.filterType(n, out, types[0], level)
	default:
		variants := make([]Object, len(types))
		for i, name := range types {
			variants[i] = Object{}
			h.filterType(n, variants[i], name, level)
		}
		out["anyOf"] = MarshalOr(variants, nil)
		h.unions++
	}
}

func (h *schemaFilter) filterType(n, out Object, name string, level int) {
	out["type"] = Quote(name)
	h.unsupported = h.unsupported || level > h.Levels && (name == "object" || name == "array")
	switch name {
	case "object":
		h.filterProperties(n, out, level)
	case "array":
		h.unsupported = h.unsupported || n["items"] == nil
		out["items"] = h.filterSchema(n["items"], level+1)
	}
}

// filterProperties closes an object whose schema names its properties and does not mention others.
func (h *schemaFilter) filterProperties(n, out Object, level int) {
	// Every required property must be declared.
	properties, _ := ReadObject(n["properties"])
	required := []string{}
	if n["required"] != nil && json.Unmarshal(n["required"], &required, Foreign) != nil {
		h.unsupported = true
	}
	for _, name := range required {
		h.unsupported = h.unsupported || properties[name] == nil
	}
	slices.Sort(required)
	required = slices.Compact(required)
	// The object must be closed, or not say that it is open.
	switch open := n["additionalProperties"]; {
	case string(open) == "false" && (len(properties) > 0 || h.Empty):
	case open == nil && len(properties) > 0:
	default:
		h.unsupported = true
	}
	// Count, since the number of properties is limited for the whole schema.
	h.optional += len(properties) - len(required)
	h.properties += len(properties)
	out["properties"] = h.filterNamed(properties, level+1)
	if len(required) > 0 || h.Optional == 0 {
		out["required"] = MarshalOr(required, nil)
	}
	out["additionalProperties"] = jsontext.Value("false")
}

func (h *schemaFilter) filterNamed(all Object, level int) jsontext.Value {
	out := Object{}
	for name, v := range all {
		h.text += len(name)
		out[name] = h.filterSchema(v, level)
	}
	return MarshalOr(out, nil)
}

func (h *schemaFilter) filterEnum(out Object, values []jsontext.Value) {
	length := 0
	for _, v := range values {
		h.unsupported = h.unsupported || v.Kind() == '{' || v.Kind() == '['
		length += len(v)
	}
	h.unsupported = h.unsupported || len(values) == 0 || len(values) > manyValues && length > manyValueText
	h.values += len(values)
	h.text += length
	choices := EnumSchemas(values)
	if len(choices) > 1 {
		out["anyOf"] = MarshalOr(choices, nil)
		h.unions++
		return
	}
	for _, only := range choices {
		for name, v := range only {
			out[name] = v
		}
	}
}
