package history

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// objectSchema returns the schema of an object for any schema, because the input of a tool is an object. A schema of
// other values is wrapped: the value becomes the member "value" of the object.
func objectSchema(root llm.Schema) (schema llm.Schema, wrapped bool) {
	if describesObject(root) {
		return root, false
	}
	if same, ok := resolveObject(root); ok {
		return same, false
	}
	return wrapSchema(root), true
}

func describesObject(s llm.Schema) bool {
	return string(s["type"]) == `"object"` || s["type"] == nil && s["properties"] != nil && s["$ref"] == nil
}

// resolveObject returns the schema that root refers to, if it describes objects and root adds no constraints to it.
func resolveObject(root llm.Schema) (llm.Schema, bool) {
	const hops = 8
	target, found := root, false
	for range hops {
		var ref string
		if json.Unmarshal(target["$ref"], &ref) != nil {
			break
		}
		for name := range target {
			if name != "$ref" && !annotations[name] {
				return nil, false
			}
		}
		if target, found = llm.ResolveRef(root, ref); !found {
			return nil, false
		}
	}
	if !found || !describesObject(target) || target["$id"] != nil {
		return nil, false
	}
	for name, v := range root {
		if _, has := target[name]; !has && name != "$ref" {
			target[name] = v
		}
	}
	return target, true
}

// annotations are the keywords next to a reference that constrain no value.
var annotations = map[string]bool{
	"$defs": true, "definitions": true, "$id": true, "$comment": true, "title": true,
	"description": true, "examples": true,
}

// wrapSchema returns the schema of an object whose member "value" has the given schema. Definitions stay at the root; a
// schema that refers to itself moves among its own definitions.
func wrapSchema(root llm.Schema) llm.Schema {
	out := llm.Schema{
		"type": jsontext.Value(`"object"`), "required": jsontext.Value(`["value"]`),
		"additionalProperties": jsontext.Value(`false`),
	}
	m := refRewriter{to: "#/$defs/" + freeDefinition(root)}
	_ = json.Unmarshal(root["$id"], &m.id) // optional
	if moved := m.rewriteSchema(encodeJSON(root)); m.moved {
		root = nil
		_ = json.Unmarshal(moved, &root) // encoded just now
	}
	for _, name := range []string{"$id", "$defs", "definitions"} {
		if v, ok := root[name]; ok {
			out[name] = v
			delete(root, name)
		}
	}
	inner := root
	if m.moved {
		defs := llm.Schema{}
		_ = json.Unmarshal(out["$defs"], &defs) // optional
		defs[strings.TrimPrefix(m.to, "#/$defs/")] = encodeJSON(root)
		out["$defs"] = encodeJSON(defs)
		inner = llm.Schema{"$ref": encodeJSON(m.to)}
	}
	out["properties"] = encodeJSON(llm.Schema{"value": encodeJSON(inner)})
	return out
}

// freeDefinition returns a name that no definition has.
func freeDefinition(root llm.Schema) string {
	var defs llm.Schema
	_ = json.Unmarshal(root["$defs"], &defs) // optional
	name := "answer"
	for defs[name] != nil {
		name += "_"
	}
	return name
}

func encodeJSON(x any) jsontext.Value {
	out, _ := json.Marshal(x, json.Deterministic(true)) // x was decoded from JSON
	return out
}

// refRewriter redirects the references to a schema, and into it, to where it moves.
type refRewriter struct {
	id    string // the schema's own $id, by which references may name it
	to    string
	depth int
	moved bool
}

// rewriteSchema returns v with its references redirected. A schema with its own $id resolves its references itself.
func (m *refRewriter) rewriteSchema(v jsontext.Value) jsontext.Value {
	var s llm.Schema
	if v.Kind() != '{' || json.Unmarshal(v, &s) != nil || m.depth > 0 && s["$id"] != nil {
		return v
	}
	m.depth++
	defer func() { m.depth-- }()
	for _, key := range []string{"$ref", "$dynamicRef"} {
		var ref string
		if json.Unmarshal(s[key], &ref) == nil {
			s[key] = encodeJSON(m.rewriteRef(ref))
		}
	}
	llm.ReplaceSubschemas(s, m.rewriteSchema)
	return encodeJSON(s)
}

func (m *refRewriter) rewriteRef(ref string) string {
	at, local := ref, strings.HasPrefix(ref, "#")
	if rest, own := strings.CutPrefix(ref, m.id); own && m.id != "" && (rest == "" || rest[0] == '#') {
		at, local = "#"+strings.TrimPrefix(rest, "#"), true
	}
	pointer := strings.TrimPrefix(at, "#")
	switch {
	case !local, pointer != "" && pointer[0] != '/': // another document, or an anchor
		return ref
	case strings.HasPrefix(pointer, "/$defs/"), strings.HasPrefix(pointer, "/definitions/"):
		return at
	}
	m.moved = true
	return m.to + pointer
}
