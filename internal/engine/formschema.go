package engine

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// ofObject returns a schema of objects for a format's, and whether these are wrapped: then the value that the format
// asks for is the object's member "value".
func ofObject(root llm.Schema) (schema llm.Schema, wrapped bool) {
	if saysObject(root) {
		return root, false
	}
	if same, ok := objectAt(root); ok {
		return same, false
	}
	return wrap(root), true
}

func saysObject(s llm.Schema) bool {
	return string(s["type"]) == `"object"` || s["type"] == nil && s["properties"] != nil && s["$ref"] == nil
}

// objectAt returns what root refers to, if that is a schema of objects and root says no more about it.
func objectAt(root llm.Schema) (llm.Schema, bool) {
	const hops = 8
	target, found := root, false
	for range hops {
		var ref string
		if json.Unmarshal(target["$ref"], &ref) != nil {
			break
		}
		for name := range target {
			if name != "$ref" && !remarks[name] {
				return nil, false
			}
		}
		if target, found = llm.At(root, ref); !found {
			return nil, false
		}
	}
	if !found || !saysObject(target) || target["$id"] != nil {
		return nil, false
	}
	for name, v := range root {
		if _, has := target[name]; !has && name != "$ref" {
			target[name] = v
		}
	}
	return target, true
}

// remarks are the members beside a reference that ask nothing more of a value.
var remarks = map[string]bool{"$defs": true, "definitions": true, "$id": true, "$comment": true, "title": true, "description": true, "examples": true}

// wrap makes the schema of an object whose member "value" has the given one. What is referred to stays at the root; a
// schema that refers to itself moves among its own definitions.
func wrap(root llm.Schema) llm.Schema {
	out := llm.Schema{
		"type": jsontext.Value(`"object"`), "required": jsontext.Value(`["value"]`), "additionalProperties": jsontext.Value(`false`),
	}
	m := mover{to: "#/$defs/" + freeName(root)}
	_ = json.Unmarshal(root["$id"], &m.id) // it need not have one
	if moved := m.schema(written(root)); m.moved {
		root = nil
		_ = json.Unmarshal(moved, &root) // it was written just now
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
		_ = json.Unmarshal(out["$defs"], &defs) // there may be none
		defs[strings.TrimPrefix(m.to, "#/$defs/")] = written(root)
		out["$defs"] = written(defs)
		inner = llm.Schema{"$ref": written(m.to)}
	}
	out["properties"] = written(llm.Schema{"value": written(inner)})
	return out
}

// freeName is one that no definition has.
func freeName(root llm.Schema) string {
	var defs llm.Schema
	_ = json.Unmarshal(root["$defs"], &defs) // there may be none
	name := "answer"
	for defs[name] != nil {
		name += "_"
	}
	return name
}

func written(x any) jsontext.Value {
	out, _ := json.Marshal(x, json.Deterministic(true)) // what was read can be written
	return out
}

// mover points the references to a schema, and into it, to where it moves.
type mover struct {
	id    string // the schema's own, by which it may be referred to
	to    string
	depth int
	moved bool
}

// schema returns v with its references moved. What has an identity of its own has references of its own.
func (m *mover) schema(v jsontext.Value) jsontext.Value {
	var s llm.Schema
	if v.Kind() != '{' || json.Unmarshal(v, &s) != nil || m.depth > 0 && s["$id"] != nil {
		return v
	}
	m.depth++
	defer func() { m.depth-- }()
	for _, key := range []string{"$ref", "$dynamicRef"} {
		var ref string
		if json.Unmarshal(s[key], &ref) == nil {
			s[key] = written(m.reference(ref))
		}
	}
	llm.Within(s, m.schema)
	return written(s)
}

func (m *mover) reference(ref string) string {
	at, local := ref, strings.HasPrefix(ref, "#")
	if rest, own := strings.CutPrefix(ref, m.id); own && m.id != "" && (rest == "" || rest[0] == '#') {
		at, local = "#"+strings.TrimPrefix(rest, "#"), true
	}
	pointer := strings.TrimPrefix(at, "#")
	switch {
	case !local, pointer != "" && pointer[0] != '/': // elsewhere, or an anchor
		return ref
	case strings.HasPrefix(pointer, "/$defs/"), strings.HasPrefix(pointer, "/definitions/"):
		return at
	}
	m.moved = true
	return m.to + pointer
}
