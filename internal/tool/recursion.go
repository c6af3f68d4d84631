package tool

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxApplied bounds the schemas that apply to one value.
const maxApplied = 10_000

// checkTermination returns an error for a schema whose validation would not end, or would apply too many schemas to one
// value. Schemas come from MCP servers and clients, which must not be able to block this process.
func checkTermination(raw jsontext.Value) error {
	r := schemaGraph{anchors: map[string][]string{}, ids: map[string]string{}, cost: map[string]int{}}
	if err := json.Unmarshal(raw, &r.root); err != nil {
		return err
	}
	var schemas []string
	r.indexObject("", r.root, &schemas)
	for _, at := range schemas {
		held, err := r.countApplied(at)
		if err != nil {
			return err
		}
		if held > maxApplied {
			return errors.New("it refers to itself without end, or holds one value against too many schemas")
		}
	}
	return nil
}

// Tokens of a JSON pointer (RFC 6901).
var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// schemaGraph indexes the objects of a schema by their JSON Pointers.
type schemaGraph struct {
	root    any
	anchors map[string][]string // pointers by name
	ids     map[string]string   // values of $id by pointer
	cost    map[string]int      // results of countApplied; more than maxApplied while the count is in progress
}

// indexObject indexes the object at a pointer and the objects inside of it.
func (r *schemaGraph) indexObject(at string, v any, schemas *[]string) {
	switch v := v.(type) {
	case []any:
		for i, child := range v {
			r.indexObject(at+"/"+strconv.Itoa(i), child, schemas)
		}
	case map[string]any:
		*schemas = append(*schemas, at)
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[key].(string); ok {
				r.anchors[name] = append(r.anchors[name], at)
			}
		}
		if id, ok := v["$id"].(string); ok {
			r.ids[at] = id
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.indexObject(at+"/"+pointerEscapes.Replace(name), v[name], schemas)
		}
	}
}

// countApplied counts the schemas that are applied to a value in order to apply the schema at a pointer.
func (r *schemaGraph) countApplied(at string) (int, error) {
	// Each schema is counted once.
	if n, known := r.cost[at]; known {
		return n, nil
	}
	s, ok := r.lookup(at).(map[string]any)
	if !ok {
		return 1, nil
	}
	// A schema that applies itself to the same value never ends: while it is counted, its count is over the limit.
	r.cost[at] = maxApplied + 1
	// The schemas in place (allOf, anyOf, …) and the targets of references apply to the same value.
	next := inPlaceSubschemas(at, s)
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := s[key].(string); ok {
			targets, err := r.resolveRef(at, ref)
			if err != nil {
				return 0, err
			}
			next = append(next, targets...)
		}
	}
	// Sum up, and stop growing above the limit, so that the sum cannot overflow.
	total := 1
	for _, child := range next {
		n, err := r.countApplied(child)
		if err != nil {
			return 0, err
		}
		total = min(total+n, maxApplied+1)
	}
	r.cost[at] = total
	return total, nil
}

// inPlaceSubschemas returns the pointers of the subschemas that apply to the same value as s.
func inPlaceSubschemas(at string, s map[string]any) (out []string) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for i := range list {
			out = append(out, at+"/"+key+"/"+strconv.Itoa(i))
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if s[key] != nil {
			out = append(out, at+"/"+key)
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		all, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out = append(out, at+"/"+key+"/"+pointerEscapes.Replace(name))
		}
	}
	return out
}

// resolveRef returns the pointers that a reference may lead to.
func (r *schemaGraph) resolveRef(at, ref string) (out []string, err error) {
	uri, fragment, _ := strings.Cut(ref, "#")
	if path, err := url.PathUnescape(fragment); err == nil {
		fragment = path
	}
	bases := []string{r.findBase(at)}
	if uri != "" {
		bases = nil
		for _, base := range slices.Sorted(maps.Keys(r.ids)) {
			if id := strings.TrimSuffix(r.ids[base], "#"); id == uri || strings.HasSuffix(id, "/"+uri) {
				bases = append(bases, base)
			}
		}
	}
	for _, base := range bases {
		if fragment == "" || fragment[0] == '/' {
			out = append(out, base+fragment)
		} else {
			out = append(out, r.anchors[fragment]...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the reference %.80q cannot be followed", ref)
	}
	return out, nil
}

// findBase returns the pointer of the nearest schema with an $id, which references are relative to.
func (r *schemaGraph) findBase(at string) string {
	for at != "" && r.ids[at] == "" {
		at = at[:strings.LastIndexByte(at, '/')]
	}
	return at
}

// lookup returns the value at a pointer, nil if it is missing.
func (r *schemaGraph) lookup(at string) any {
	v := r.root
	for _, token := range strings.Split(at, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			v = in[pointerUnescapes.Replace(token)]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}
