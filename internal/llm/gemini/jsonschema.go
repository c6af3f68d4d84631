package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// SupportsSchema reports whether the vendor takes a schema for answers. Any may be sent, and what the vendor does not know of it
// is not held to; but it refuses references that lead nowhere, those that have more beside them, and cycles that are in
// no property that may be left out (ai.google.dev/api/generate-content, responseJsonSchema).
func (Dialect) SupportsSchema(raw jsontext.Value) bool {
	root, ok := wire.ReadObject(raw)
	if !ok || wire.IsCyclic(root, true) {
		return false
	}
	good := true
	wire.RewriteSchemas(raw, func(n wire.Object) wire.Object {
		if n["$ref"] != nil {
			_, known := llm.ResolveRef(root, wire.DecodeString(n["$ref"]))
			good = good && known && len(referenceKeywords(n)) == len(withoutAnnotations(n))
		}
		return n
	})
	return good
}

// encodeJSONSchema is a schema for answers as the vendor takes it: references have nothing beside them, and the values of an enum
// have a type, which is that of strings or numbers.
func encodeJSONSchema(raw jsontext.Value) jsontext.Value {
	return wire.RewriteSchemas(raw, func(n wire.Object) wire.Object {
		if n["$ref"] != nil {
			return referenceKeywords(n)
		}
		return encodeEnum(n)
	})
}

// referenceKeywords is a reference and what may stand beside it.
func referenceKeywords(n wire.Object) wire.Object {
	out := wire.Object{}
	for name, v := range n {
		if strings.HasPrefix(name, "$") {
			out[name] = v
		}
	}
	return out
}

// withoutAnnotations is a schema without what asks nothing of a value.
func withoutAnnotations(n wire.Object) wire.Object {
	out := wire.Object{}
	for name, v := range n {
		switch name {
		case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "definitions":
		default:
			out[name] = v
		}
	}
	return out
}

// encodeEnum writes the values of an enum, or a const, by their types. The vendor knows no enums of other types, which
// it is told in words.
func encodeEnum(n wire.Object) wire.Object {
	values, ok := wire.EnumValues(n)
	if !ok || len(values) == 0 {
		return n
	}
	choices := wire.EnumSchemas(values)
	for _, c := range choices {
		if t := wire.DecodeString(c["type"]); t == "boolean" || t == "object" || t == "array" {
			c["description"] = wire.Quote("One of " + string(c["enum"]) + ".")
			delete(c, "enum")
		}
	}
	out := mergeMembers(n, nil, "enum")
	delete(out, "const")
	delete(out, "type")
	if len(choices) == 1 {
		return mergeMembers(out, choices[0], "")
	}
	if out["anyOf"] != nil { // two choices at once: the one that is written may be the wider
		return out
	}
	out["anyOf"] = wire.MarshalOr(choices, nil)
	return out
}
