package llmtest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// RandomSchema returns a random JSON Schema of an object with every keyword that people use, except limits.
func RandomSchema(r *rand.Rand) map[string]any {
	g := &schemaGenerator{r: r}
	root := g.newObject(0)
	if defs := g.newDefinitions(); len(defs) > 0 {
		root["$defs"] = defs
	}
	return root
}

type schemaGenerator struct {
	r     *rand.Rand
	names int // the number of definitions that may be referenced
}

func (g *schemaGenerator) oneIn(n int) bool { return g.r.IntN(n) == 0 }

func (g *schemaGenerator) newDefinitions() map[string]any {
	out := map[string]any{}
	for i := range g.names {
		out["d"+strconv.Itoa(i)] = g.newObject(2)
	}
	g.names = min(g.names, len(out)) // a definition may refer to later ones
	for i := len(out); i < g.names; i++ {
		out["d"+strconv.Itoa(i)] = map[string]any{"type": "string"}
	}
	return out
}

func (g *schemaGenerator) newObject(depth int) map[string]any {
	out, properties, required := map[string]any{"type": "object"}, map[string]any{}, []any{}
	for i := range g.r.IntN(4) {
		name := "p" + strconv.Itoa(i)
		properties[name] = g.newSchema(depth + 1)
		if !g.oneIn(5) {
			required = append(required, name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	switch g.r.IntN(8) {
	case 0:
	case 1:
		out["additionalProperties"] = true
	case 2:
		out["additionalProperties"] = map[string]any{"type": "integer"}
	default:
		out["additionalProperties"] = false
	}
	if depth > 0 && g.oneIn(6) {
		delete(out, "type")
	}
	return out
}

func (g *schemaGenerator) newSchema(depth int) any {
	out := g.newBareSchema(depth)
	if s, ok := out.(map[string]any); ok && g.oneIn(4) {
		s["description"] = "what it is"
		if g.oneIn(2) {
			s["examples"] = []any{"x"}
		}
	}
	return out
}

func (g *schemaGenerator) newBareSchema(depth int) any {
	// Deep schemas end with a scalar.
	if depth > 4 || g.oneIn(3) {
		return map[string]any{"type": g.scalarType()}
	}
	// Draw constants, unions, combined types, containers, references, and forms that vendors do not support.
	switch g.r.IntN(14) {
	case 0:
		return map[string]any{"const": g.newValue()}
	case 1:
		return map[string]any{"enum": g.newValues()}
	case 2:
		return map[string]any{"type": "integer", "enum": []any{1, 2, 3}}
	case 3:
		return map[string]any{"anyOf": []any{g.newSchema(depth + 1), map[string]any{"type": "null"}}}
	case 4:
		return map[string]any{"anyOf": []any{g.newSchema(depth + 1), g.newSchema(depth + 1)}}
	case 5:
		return map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}}}
	case 6:
		return map[string]any{"allOf": []any{g.newSchema(depth + 1)}}
	case 7:
		return map[string]any{"type": []any{"null", g.scalarType()}}
	case 8:
		return map[string]any{"type": "array", "items": g.newSchema(depth + 1)}
	case 9:
		return g.newReference()
	case 10:
		return g.newUnusualSchema()
	case 11:
		return map[string]any{
			"type": []any{"object", "string", "null"}, "properties": map[string]any{"q": g.newSchema(depth + 1)},
			"required": []any{"q"},
		}
	default:
		return g.newObject(depth)
	}
}

func (g *schemaGenerator) newReference() any {
	if g.oneIn(4) {
		return map[string]any{"$ref": "#"}
	}
	if g.names == 0 || g.oneIn(2) {
		g.names++
	}
	return map[string]any{"$ref": "#/$defs/d" + strconv.Itoa(g.r.IntN(g.names))}
}

func (g *schemaGenerator) newUnusualSchema() any {
	return []any{
		true,
		map[string]any{},
		map[string]any{"type": "array"},
		map[string]any{"not": map[string]any{"type": "integer"}},
		map[string]any{"type": "object", "patternProperties": map[string]any{"^x": map[string]any{"type": "string"}}},
		map[string]any{"type": "object"},
		map[string]any{"type": "array", "prefixItems": []any{map[string]any{"type": "string"}}},
		map[string]any{"if": map[string]any{"type": "string"}, "then": map[string]any{"const": "x"}},
	}[g.r.IntN(8)]
}

func (g *schemaGenerator) scalarType() string {
	return []string{"string", "integer", "number", "boolean"}[g.r.IntN(4)]
}

func (g *schemaGenerator) newValue() any {
	return []any{"x", "y", 1, 2.5, true, nil, "1"}[g.r.IntN(7)]
}

func (g *schemaGenerator) newValues() []any {
	var out []any
	for range 1 + g.r.IntN(4) {
		if v := g.newValue(); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// RandomAnswer returns a random value that is valid under a schema; false if the schema has no finite value.
func RandomAnswer(r *rand.Rand, root map[string]any) (value any, ok bool) {
	a := &answerGenerator{r: r, root: root}
	value = a.newValue(root, 0)
	return value, !a.endless
}

type answerGenerator struct {
	r       *rand.Rand
	root    map[string]any
	endless bool
}

func (a *answerGenerator) newValue(s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		s = a.root
		if _, name, inside := strings.Cut(ref, "#/$defs/"); inside {
			s = a.root["$defs"].(map[string]any)[name].(map[string]any)
		}
	}
	if choices, ok := s["anyOf"].([]any); ok {
		at := a.r.IntN(len(choices))
		if depth > 6 {
			at = len(choices) - 1 // which is null where it can be
		}
		return a.newValue(choices[at].(map[string]any), depth+1)
	}
	if values, ok := s["enum"].([]any); ok {
		return values[a.r.IntN(len(values))]
	}
	if types, ok := s["type"].([]any); ok {
		return a.newTypedValue(s, types[a.r.IntN(len(types))].(string), depth)
	}
	return a.newTypedValue(s, s["type"].(string), depth)
}

func (a *answerGenerator) newTypedValue(s map[string]any, name string, depth int) any {
	switch name {
	case "string":
		return "some text"
	case "integer":
		return 7
	case "number":
		return 7.5
	case "boolean":
		return a.r.IntN(2) == 0
	case "array":
		out := []any{}
		for range a.r.IntN(3) {
			if depth < 8 {
				out = append(out, a.newValue(s["items"].(map[string]any), depth+1))
			}
		}
		return out
	case "object":
		return a.newObject(s, depth)
	}
	return nil
}

func (a *answerGenerator) newObject(s map[string]any, depth int) any {
	out := map[string]any{}
	if a.endless = a.endless || depth > 100; a.endless {
		return out
	}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if slices.Contains(required, any(name)) || depth < 6 && a.r.IntN(2) == 0 {
			out[name] = a.newValue(p.(map[string]any), depth+1)
		}
	}
	return out
}
