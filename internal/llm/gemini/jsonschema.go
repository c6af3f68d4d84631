package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// SupportsSchema reports whether the vendor accepts a schema for answers. It ignores unknown keywords, but refuses
// dangling references, references with other constraints next to them, and cycles without an optional property
// (ai.google.dev/api/generate-content, responseJsonSchema).
func (Dialect) SupportsSchema(raw jsontext.Value) bool {
	root, ok := wire.ReadObject(raw)
	if !ok || wire.IsCyclic(root, true) {
		return false
	}
	isSupported := true
	wire.RewriteSchemas(raw, func(n wire.Object) wire.Object {
		if n["$ref"] != nil {
			_, exists := llm.ResolveRef(root, wire.DecodeString(n["$ref"]))
			isSupported = isSupported && exists && len(referenceKeywords(n)) == len(withoutAnnotations(n))
		}
		return n
	})
	return isSupported
}

// encodeJSONSchema returns a schema in the vendor's form: references have no other members, and the values of an enum
// have a type, string or number.
func encodeJSONSchema(raw jsontext.Value) jsontext.Value {
	return wire.RewriteSchemas(raw, func(n wire.Object) wire.Object {
		if n["$ref"] != nil {
			return referenceKeywords(n)
		}
		return encodeEnum(n)
	})
}

// referenceKeywords returns a reference with the members that may be next to it.
func referenceKeywords(n wire.Object) wire.Object {
	out := wire.Object{}
	for name, v := range n {
		if strings.HasPrefix(name, "$") {
			out[name] = v
		}
	}
	return out
}

// withoutAnnotations returns a schema without the keywords that do not constrain values.
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

// encodeEnum groups the values of an enum, or a const, by their types. The vendor does not support enums of other
// types, which become descriptions.
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
	if out["anyOf"] != nil { // the schema's own choice stays, although it may allow more
		return out
	}
	out["anyOf"] = wire.MarshalOr(choices, nil)
	return out
}
