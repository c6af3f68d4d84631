package wire

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// IsCyclic reports whether a schema refers to itself, directly or through others. With requiredOnly, only cycles count
// that every answer has to enter, because they lead through no optional property.
func IsCyclic(root Object, requiredOnly bool) bool {
	c := cycleFinder{root: root, requiredOnly: requiredOnly, visited: map[string]bool{"#": true}}
	return c.hasCycle(root)
}

type cycleFinder struct {
	root         Object
	requiredOnly bool
	visited      map[string]bool // by reference: true while its target is being checked, false if the target has no cycle
}

func (c *cycleFinder) hasCycle(n Object) (found bool) {
	if ref := DecodeString(n["$ref"]); ref != "" {
		found = c.hasCycleAt(ref)
	}
	inner := maps.Clone(n)
	delete(inner, "$defs")
	delete(inner, "definitions")
	if c.requiredOnly {
		inner["properties"] = requiredOf(n)
	}
	llm.ReplaceSubschemas(inner, func(v jsontext.Value) jsontext.Value {
		if child, ok := ReadObject(v); ok && !found {
			found = c.hasCycle(child)
		}
		return v
	})
	return found
}

func (c *cycleFinder) hasCycleAt(ref string) bool {
	isCyclic, isVisited := c.visited[ref]
	if isVisited {
		return isCyclic
	}
	target, ok := llm.ResolveRef(c.root, ref)
	if !ok {
		return false
	}
	c.visited[ref] = true
	found := c.hasCycle(target)
	c.visited[ref] = found
	return found
}

// requiredOf returns the required properties of an object.
func requiredOf(n Object) jsontext.Value {
	properties, _ := ReadObject(n["properties"])
	var required []string
	_ = json.Unmarshal(n["required"], &required, Foreign) // no property is required without the list
	maps.DeleteFunc(properties, func(name string, _ jsontext.Value) bool { return !slices.Contains(required, name) })
	return MarshalOr(properties, nil)
}
