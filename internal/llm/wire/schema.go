package wire

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

const anyObject = `{"type":"object","properties":{}}`

// ToolSchema makes of a tool's schema what OpenAI's endpoints and their likes accept (spec/v2 §20.1 LM-7): an object at
// the root and no null variants. A schema that needs no change is passed byte for byte; one that is not a JSON object
// becomes an object of anything.
func ToolSchema(raw jsontext.Value) jsontext.Value {
	if raw.Kind() != '{' || !raw.IsValid(Foreign) {
		return jsontext.Value(anyObject)
	}
	if bytes.Contains(raw, []byte(`"null"`)) {
		raw = Rewrite(raw, dropNull)
	}
	return objectRoot(raw)
}

// Parameters is the schema of a tool's input as its vendor is told it. What may be null in an answer of the user's form
// stays so: such a member is required, and has no other way to say that there is nothing.
func Parameters(def llm.ToolDefinition) jsontext.Value {
	if def.StructuredOutput {
		return FormSchema(def.Schema)
	}
	return ToolSchema(def.Schema)
}

// FormSchema is ToolSchema for an answer in a form of the user's.
func FormSchema(raw jsontext.Value) jsontext.Value {
	if raw.Kind() != '{' || !raw.IsValid(Foreign) {
		return jsontext.Value(anyObject)
	}
	return objectRoot(raw)
}

// Rewrite applies change to every schema in v, innermost first.
func Rewrite(v jsontext.Value, change func(Object) Object) jsontext.Value {
	var n Object
	if v.Kind() != '{' || json.Unmarshal(v, &n, Foreign) != nil {
		return v
	}
	llm.ReplaceSubschemas(n, func(child jsontext.Value) jsontext.Value { return Rewrite(child, change) })
	return Write(change(n), v)
}

// dropNull removes the null variant of a choice, and the choice when one variant is left.
func dropNull(n Object) Object {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := List(n[key])
		if !ok {
			continue
		}
		var kept []jsontext.Value
		for _, v := range list {
			var child Object
			if json.Unmarshal(v, &child, Foreign) == nil && len(child) == 1 && string(child["type"]) == `"null"` {
				continue
			}
			kept = append(kept, v)
		}
		switch {
		case len(kept) == len(list) || len(kept) == 0:
		case len(kept) == 1:
			n = inline(n, key, kept[0])
		default:
			n[key] = Write(kept, n[key])
		}
	}
	return n
}

// inline puts the only variant in the place of the choice; what stands beside the choice wins.
func inline(n Object, key string, only jsontext.Value) Object {
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

// objectRoot makes the root an object. The properties of a root choice are merged, so that the model still sees them.
func objectRoot(raw jsontext.Value) jsontext.Value {
	var n Object
	if json.Unmarshal(raw, &n, Foreign) != nil {
		return jsontext.Value(anyObject)
	}
	_, isChoice := n["anyOf"]
	if string(n["type"]) == `"object"` && !isChoice {
		return raw
	}
	if list, ok := List(n["anyOf"]); ok {
		n["properties"] = mergedProperties(n["properties"], list)
		n["additionalProperties"] = jsontext.Value("false")
		delete(n, "anyOf")
	}
	n["type"] = jsontext.Value(`"object"`)
	if n["properties"] == nil {
		n["properties"] = jsontext.Value("{}")
	}
	return Write(n, raw)
}

func mergedProperties(own jsontext.Value, list []jsontext.Value) jsontext.Value {
	merged := Object{}
	for _, v := range append([]jsontext.Value{[]byte(`{"properties":` + orEmpty(own) + `}`)}, list...) {
		var child struct {
			Properties Object `json:"properties"`
		}
		if json.Unmarshal(v, &child, Foreign) != nil {
			continue
		}
		for name, p := range child.Properties {
			if _, ok := merged[name]; !ok {
				merged[name] = p
			}
		}
	}
	return Write(merged, jsontext.Value("{}"))
}

func orEmpty(v jsontext.Value) string {
	if v == nil {
		return "{}"
	}
	return string(v)
}

// measures are what schemas say that those who hold answers to them do not all take.
var measures = []string{
	"default", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
	"minProperties", "minimum", "multipleOf", "pattern", "patternProperties", "uniqueItems",
}

// Unmeasured returns a schema without what counts and measures, which its descriptions say instead.
func Unmeasured(raw jsontext.Value) jsontext.Value {
	return Rewrite(raw, func(n Object) Object {
		var said []string
		for _, key := range measures {
			if v, ok := n[key]; ok {
				said = append(said, key+": "+string(v))
				delete(n, key)
			}
		}
		if len(said) > 0 {
			text := "(" + strings.Join(said, ", ") + ")"
			if before := Plain(n["description"]); before != "" {
				text = before + " " + text
			}
			n["description"] = Quote(text)
		}
		return n
	})
}

// Held returns a schema for an answer as OpenAI's endpoints and their likes take it, and whether they can hold the
// answer to it strictly: then it says nothing that they would refuse.
func Held(raw jsontext.Value) (schema jsontext.Value, strict bool) {
	if held, ok := OpenAI().Hold(raw); ok {
		return held, true
	}
	return raw, false
}
