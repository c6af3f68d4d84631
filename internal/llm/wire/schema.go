package wire

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

const anyObject = `{"type":"object","properties":{}}`

// ToolSchema adapts a tool's schema to the OpenAI endpoints and compatible ones: an object at the root and no null
// variants. A schema that needs no change is returned byte for byte; a value that is not a JSON object becomes a schema
// for any object.
func ToolSchema(raw jsontext.Value) jsontext.Value {
	if bytes.Contains(raw, []byte(`"null"`)) {
		raw = RewriteSchemas(raw, dropNull)
	}
	return OutputSchema(raw)
}

// ToolParameters returns the schema of a tool's input for its vendor. Structured output keeps its null variants,
// because a required member has no other way to be absent.
func ToolParameters(def llm.ToolDefinition) jsontext.Value {
	if def.StructuredOutput {
		return OutputSchema(def.Schema)
	}
	return ToolSchema(def.Schema)
}

// RewriteSchemas applies change to every schema in v, innermost first.
func RewriteSchemas(v jsontext.Value, change func(Object) Object) jsontext.Value {
	var n Object
	if v.Kind() != '{' || json.Unmarshal(v, &n, Foreign) != nil {
		return v
	}
	llm.ReplaceSubschemas(n, func(child jsontext.Value) jsontext.Value { return RewriteSchemas(child, change) })
	return MarshalOr(change(n), v)
}

// dropNull removes the null variant of a choice, and the choice if one variant is left.
func dropNull(n Object) Object {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := ReadList(n[key])
		if !ok {
			continue
		}
		// Keep the variants that are more than null.
		var kept []jsontext.Value
		for _, v := range list {
			var child Object
			if json.Unmarshal(v, &child, Foreign) == nil && len(child) == 1 && string(child["type"]) == `"null"` {
				continue
			}
			kept = append(kept, v)
		}
		// One variant left is no choice; none left, or none removed, changes nothing.
		switch {
		case len(kept) == len(list) || len(kept) == 0:
		case len(kept) == 1:
			n = inlineChoice(n, key, kept[0])
		default:
			n[key] = MarshalOr(kept, n[key])
		}
	}
	return n
}

// inlineChoice replaces a choice by its only variant. Members next to the choice take precedence.
func inlineChoice(n Object, key string, only jsontext.Value) Object {
	var child Object
	if json.Unmarshal(only, &child, Foreign) != nil {
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

// OutputSchema is ToolSchema for structured output: null variants stay. The properties of the variants of a choice at
// the root are merged, so that the model still sees them.
func OutputSchema(raw jsontext.Value) jsontext.Value {
	n, ok := ReadObject(raw)
	if !ok {
		return jsontext.Value(anyObject)
	}
	_, isChoice := n["anyOf"]
	if string(n["type"]) == `"object"` && !isChoice {
		return raw
	}
	if list, ok := ReadList(n["anyOf"]); ok {
		n["properties"] = mergedProperties(n["properties"], list)
		n["additionalProperties"] = jsontext.Value("false")
		delete(n, "anyOf")
	}
	n["type"] = jsontext.Value(`"object"`)
	if n["properties"] == nil {
		n["properties"] = jsontext.Value("{}")
	}
	return MarshalOr(n, raw)
}

// mergedProperties returns the properties of an object and those of its variants. The first of a name counts.
func mergedProperties(own jsontext.Value, variants []jsontext.Value) jsontext.Value {
	merged, _ := ReadObject(own)
	if merged == nil {
		merged = Object{}
	}
	for _, v := range variants {
		variant, _ := ReadObject(v)
		properties, _ := ReadObject(variant["properties"])
		for name, p := range properties {
			if _, ok := merged[name]; !ok {
				merged[name] = p
			}
		}
	}
	return MarshalOr(merged, nil)
}

// limitKeywords are keywords that some vendors refuse in schemas for constrained decoding.
var limitKeywords = []string{
	"default", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength", "maxProperties", "maximum",
	"minItems", "minLength",
	"minProperties", "minimum", "multipleOf", "pattern", "patternProperties", "uniqueItems",
}

// DescribeLimits removes the limiting keywords from a schema and adds them to its descriptions.
func DescribeLimits(raw jsontext.Value) jsontext.Value {
	return RewriteSchemas(raw, func(n Object) Object {
		var limits []string
		for _, key := range limitKeywords {
			if v, ok := n[key]; ok {
				limits = append(limits, key+": "+string(v))
				delete(n, key)
			}
		}
		if len(limits) > 0 {
			text := "(" + strings.Join(limits, ", ") + ")"
			if before := DecodeString(n["description"]); before != "" {
				text = before + " " + text
			}
			n["description"] = Quote(text)
		}
		return n
	})
}

// StrictSchema returns a schema of an answer for the OpenAI endpoints and compatible ones, and whether they can enforce
// it strictly. If so, it has no keyword that they refuse.
func StrictSchema(raw jsontext.Value) (schema jsontext.Value, strict bool) {
	if fitted, ok := OpenAISubset().FitSchema(raw); ok {
		return fitted, true
	}
	return raw, false
}
