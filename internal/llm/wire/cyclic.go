package wire

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Cyclic reports whether a schema refers to itself, be it through others; demanded asks whether it does so where an
// answer cannot leave it out: through no property that is optional.
func Cyclic(root Object, demanded bool) bool {
	c := cycles{root: root, demanded: demanded, at: map[string]bool{"#": true}}
	return c.found(root)
}

type cycles struct {
	root     Object
	demanded bool
	at       map[string]bool // what references led to: true while it is looked into, false when it has no cycle
}

func (c *cycles) found(n Object) (found bool) {
	if ref := Plain(n["$ref"]); ref != "" {
		found = c.follow(ref)
	}
	inner := maps.Clone(n)
	delete(inner, "$defs")
	delete(inner, "definitions")
	if c.demanded {
		inner["properties"] = requiredOf(n)
	}
	llm.ReplaceSubschemas(inner, func(v jsontext.Value) jsontext.Value {
		if child, ok := ReadObject(v); ok && !found {
			found = c.found(child)
		}
		return v
	})
	return found
}

func (c *cycles) follow(ref string) bool {
	inside, known := c.at[ref]
	if known {
		return inside
	}
	target, ok := llm.ResolveRef(c.root, ref)
	if !ok {
		return false
	}
	c.at[ref] = true
	found := c.found(target)
	c.at[ref] = found
	return found
}

// requiredOf returns the properties that an object must have.
func requiredOf(n Object) jsontext.Value {
	properties, _ := ReadObject(n["properties"])
	var required []string
	_ = json.Unmarshal(n["required"], &required, Foreign) // without it, none
	maps.DeleteFunc(properties, func(name string, _ jsontext.Value) bool { return !slices.Contains(required, name) })
	return Write(properties, nil)
}
