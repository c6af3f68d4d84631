package llmtest

import (
	"fmt"
	"slices"
	"strings"
)

// SchemaRules are a vendor's documented rules for the schemas of structured output.
type SchemaRules struct {
	AllRequired bool // every property must be required
	Recursion   bool
	Optional    int // maximum of optional properties
	Unions      int // maximum of choices
}

// FindViolation returns what the rules forbid in a schema; "" for nothing. It follows the documentation, independently
// of the code under test.
func (r SchemaRules) FindViolation(root map[string]any) string {
	c := &ruleChecker{SchemaRules: r, root: root}
	if root["type"] != "object" || root["anyOf"] != nil {
		return "the root is not an object"
	}
	c.checkSchema(root, "#")
	if defs, ok := root["$defs"].(map[string]any); ok {
		for name, d := range defs {
			c.checkSchema(d, "#/$defs/"+name)
		}
	}
	switch {
	case c.broken != "":
		return c.broken
	case !r.Recursion && c.hasCycle("#", nil):
		return "it refers to itself"
	case !r.AllRequired && (c.optional > r.Optional || c.unions > r.Unions):
		return "too many choices"
	}
	return ""
}

type ruleChecker struct {
	SchemaRules
	root             map[string]any
	refs             map[string][]string // references by the place of the referring schema
	broken           string
	optional, unions int
}

var allowedKeywords = []string{
	"$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "title",
	"type",
}

func (c *ruleChecker) report(format string, args ...any) { c.broken = fmt.Sprintf(format, args...) }

func (c *ruleChecker) checkSchema(v any, at string) {
	// Check the keywords of this schema.
	s, ok := v.(map[string]any)
	if !ok {
		c.report("%v is not an object", v)
		return
	}
	for key := range s {
		if !slices.Contains(allowedKeywords, key) || key == "$defs" && at != "#" {
			c.report("%s is not supported", key)
		}
	}
	// A reference or a union has no other constraints to check.
	if ref, ok := s["$ref"].(string); ok {
		c.checkReference(s, ref, at)
		return
	}
	if choices, ok := s["anyOf"].([]any); ok {
		c.unions++
		for _, choice := range choices {
			c.checkSchema(choice, at)
		}
		return
	}
	// Check the type and the values.
	if list, ok := s["type"].([]any); ok {
		c.unions++
		if len(list) == 0 {
			c.report("no type")
		}
	} else if s["type"] == nil {
		c.report("schema must have a 'type' key: %v", s)
	}
	for _, v := range asList(s["enum"]) {
		switch v.(type) {
		case map[string]any, []any:
			c.report("an enum of %v", v)
		}
	}
	// Check the parts of containers.
	switch s["type"] {
	case "array":
		c.checkSchema(s["items"], at)
	case "object":
		c.checkObject(s, at)
	}
}

func (c *ruleChecker) checkReference(s map[string]any, ref, at string) {
	name, inside := strings.CutPrefix(ref, "#/$defs/")
	defs, _ := c.root["$defs"].(map[string]any)
	if len(s) > 1 || ref != "#" && (!inside || defs[name] == nil) {
		c.report("the reference %v", s)
	}
	if c.refs == nil {
		c.refs = map[string][]string{}
	}
	c.refs[at] = append(c.refs[at], ref)
}

func (c *ruleChecker) hasCycle(at string, seen []string) bool {
	if slices.Contains(seen, at) {
		return true
	}
	return slices.ContainsFunc(c.refs[at], func(to string) bool { return c.hasCycle(to, append(slices.Clip(seen), at)) })
}

func (c *ruleChecker) checkObject(s map[string]any, at string) {
	properties, _ := s["properties"].(map[string]any)
	required := asList(s["required"])
	if s["additionalProperties"] != false {
		c.report("additionalProperties must be false")
	}
	c.optional += len(properties) - len(required)
	if c.AllRequired && (len(properties) != len(required) || s["required"] == nil) {
		c.report("all properties must be required")
	}
	for _, name := range required {
		if properties[name.(string)] == nil {
			c.report("%v is required but missing", name)
		}
	}
	for _, p := range properties {
		c.checkSchema(p, at)
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// FindUnrollProblem returns why a vendor that expands references refuses a schema: a cycle without an optional
// property, or a reference with other constraints; "" if it does not.
func FindUnrollProblem(root map[string]any) string {
	// Walk the schema. behind contains the references on the path to it.
	broken := ""
	var look func(v any, behind []string)
	look = func(v any, behind []string) {
		s, ok := v.(map[string]any)
		if !ok || broken != "" {
			return
		}
		// Follow a reference, unless that closes a cycle.
		if ref, ok := s["$ref"].(string); ok {
			if len(s) > 1 {
				broken = fmt.Sprintf("the reference %v", s)
			}
			if slices.Contains(behind, ref) {
				broken = ref + " without end"
				return
			}
			target := any(root)
			if name, inside := strings.CutPrefix(ref, "#/$defs/"); inside {
				target = root["$defs"].(map[string]any)[name]
			}
			look(target, append(slices.Clip(behind), ref))
			return
		}
		// Walk the parts that an instance must have. An optional property may be absent, so it ends a cycle.
		for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
			for _, child := range asList(s[key]) {
				look(child, behind)
			}
		}
		for _, key := range []string{"items", "additionalProperties", "not", "if", "then"} {
			look(s[key], behind)
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range asList(s["required"]) {
			look(properties[name.(string)], behind)
		}
	}
	look(root, []string{"#"})
	return broken
}
