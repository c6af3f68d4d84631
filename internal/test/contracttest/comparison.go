package contracttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// FindMissing lists what the document theirs promises and ours does not: operations, parameters, members of bodies,
// statuses, members of responses and values of enums. Differences within a component are listed once, under its
// name.
func FindMissing(theirs, ours []byte) ([]string, error) {
	c := &comparison{seen: map[string]bool{}}
	if err := json.Unmarshal(theirs, &c.theirs); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(ours, &c.ours); err != nil {
		return nil, err
	}
	for path, at := range c.theirs["paths"].(jsonSchema) {
		for method, op := range at.(jsonSchema) {
			c.compareOperation(strings.ToUpper(method)+" "+path, op.(jsonSchema), findPath(c.ours, "paths", path, method))
		}
	}
	slices.Sort(c.missing)
	return slices.Compact(c.missing), nil
}

type jsonSchema = map[string]any

// comparison is one comparison.
type comparison struct {
	theirs, ours jsonSchema
	seen         map[string]bool // pairs of schemas that were compared
	missing      []string
}

func (c *comparison) addMissing(format string, args ...any) {
	c.missing = append(c.missing, fmt.Sprintf(format, args...))
}

func findPath(s jsonSchema, path ...string) jsonSchema {
	for _, name := range path {
		s, _ = s[name].(jsonSchema)
	}
	return s
}

func (c *comparison) compareOperation(name string, theirs, ours jsonSchema) {
	// The operation must exist, with the same id: generated clients name their methods after it.
	if ours == nil {
		c.addMissing("%s", name)
		return
	}
	if id := theirs["operationId"]; id != nil && id != ours["operationId"] {
		c.addMissing("%s operationId %v", name, theirs["operationId"])
	}
	// Compare what a client sends.
	c.compareParameters(name, theirs, ours)
	if body := findPath(theirs, "requestBody", "content", "application/json", "schema"); body != nil {
		c.compareSchema(name+" body", body, findPath(ours, "requestBody", "content", "application/json", "schema"))
	}
	// Compare what a client receives, for each status and media type.
	for status, answer := range findPath(theirs, "responses") {
		our := findPath(ours, "responses", status)
		if our == nil {
			c.addMissing("%s %s", name, status)
			continue
		}
		if status[0] != '2' {
			continue // error bodies are compared with recorded responses, which differ from OpenCode's document
		}
		for media, content := range findPath(answer.(jsonSchema), "content") {
			c.compareSchema(
				name+" "+status,
				content.(jsonSchema)["schema"].(jsonSchema),
				findPath(our, "content", media, "schema"),
			)
		}
	}
}

func (c *comparison) compareParameters(name string, theirs, ours jsonSchema) {
	find := func(p jsonSchema) jsonSchema {
		list, _ := ours["parameters"].([]any)
		for _, q := range list {
			if q := q.(jsonSchema); q["name"] == p["name"] && q["in"] == p["in"] {
				return q
			}
		}
		return nil
	}
	list, _ := theirs["parameters"].([]any)
	for _, p := range list {
		p := p.(jsonSchema)
		switch q := find(p); {
		case q == nil:
			c.addMissing("%s %s parameter %s", name, p["in"], p["name"])
		case q["required"] == true && p["required"] != true:
			c.addMissing("%s %s parameter %s: optional", name, p["in"], p["name"])
		default:
			c.compareEnums(
				fmt.Sprintf("%s %s parameter %s", name, p["in"], p["name"]),
				findPath(p, "schema"),
				findPath(q, "schema"),
			)
		}
	}
}

// resolve follows references; the name is that of the last.
func resolve(doc, s jsonSchema) (name string, out jsonSchema) {
	for ref, ok := s["$ref"].(string); ok; ref, ok = s["$ref"].(string) {
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		s = findPath(doc, "components", "schemas", name)
	}
	return name, s
}

// listVariants returns the variants of a schema.
func listVariants(doc, s jsonSchema) (out []jsonSchema) {
	_, s = resolve(doc, s)
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, ok := s[word].([]any); ok {
			for _, v := range list {
				out = append(out, listVariants(doc, v.(jsonSchema))...)
			}
			return out
		}
	}
	return []jsonSchema{s}
}

func (c *comparison) compareSchema(at string, theirs, ours jsonSchema) {
	// Resolve references on both sides. A component is reported under its own name.
	name, t := resolve(c.theirs, theirs)
	if name != "" {
		at = name
	}
	if ours == nil {
		c.addMissing("%s", at)
		return
	}
	_, o := resolve(c.ours, ours)
	// Recursive schemas end at a pair that was compared before.
	pair := fmt.Sprintf("%s %p %p", at, t, o)
	if c.seen[pair] {
		return
	}
	c.seen[pair] = true
	// Our empty schema permits anything, so it says less than theirs.
	if len(o) == 0 {
		if len(t) > 0 && !isAnyObject(t) {
			c.addMissing("%s: what it holds", at)
		}
		return
	}
	// Each of their variants needs one of ours.
	all := listVariants(c.ours, o)
	for _, v := range listVariants(c.theirs, t) {
		where := at
		if n := c.componentOf(v); n != "" {
			where = n
		} else if tag := tagOf(v); tag != "" {
			where += "<" + tag + ">"
		}
		c.compareVariant(where, v, all)
	}
}

// componentOf returns the name of their component that s is.
func (c *comparison) componentOf(s jsonSchema) string {
	for name, v := range findPath(c.theirs, "components", "schemas") {
		if v, ok := v.(jsonSchema); ok && len(s) > 0 && fmt.Sprintf("%p", v) == fmt.Sprintf("%p", s) {
			return name
		}
	}
	return ""
}

// isAnyObject reports whether s is an object without further description.
func isAnyObject(s jsonSchema) bool {
	return s["properties"] == nil && s["items"] == nil && s["anyOf"] == nil && s["enum"] == nil &&
		(s["type"] == nil || s["type"] == "object")
}

// tagOf returns the member value that distinguishes a variant.
func tagOf(s jsonSchema) string {
	for _, by := range []string{"type", "role", "status", "name", "_tag"} {
		if values, ok := findPath(s, "properties", by)["enum"].([]any); ok && len(values) == 1 {
			return fmt.Sprint(by, "=", values[0])
		}
	}
	return ""
}

// compareVariant compares theirs with the variant in ours that matches it best.
func (c *comparison) compareVariant(at string, theirs jsonSchema, ours []jsonSchema) {
	if theirs["type"] == "null" {
		return
	}
	var fit []jsonSchema
	for _, o := range ours {
		if len(o) == 0 {
			return
		}
		if sameType(theirs["type"], o["type"]) && c.sameTag(theirs, o) {
			fit = append(fit, o)
		}
	}
	if len(fit) == 0 {
		c.addMissing("%s", at)
		return
	}
	best := c.listMissing(at, theirs, fit[0])
	for _, o := range fit[1:] {
		if lacks := c.listMissing(at, theirs, o); len(lacks) < len(best) {
			best = lacks
		}
	}
	c.missing = append(c.missing, best...)
}

func sameType(theirs, ours any) bool {
	return theirs == ours || theirs == "number" && ours == "integer" || theirs == "integer" && ours == "number" ||
		ours == nil ||
		theirs == nil
}

// sameTag reports whether no member has a single, different value in both.
func (c *comparison) sameTag(theirs, ours jsonSchema) bool {
	for name, p := range findPath(theirs, "properties") {
		_, p := resolve(c.theirs, p.(jsonSchema))
		values, ok := p["enum"].([]any)
		_, o := resolve(c.ours, findPath(ours, "properties", name))
		have, listed := o["enum"].([]any)
		if ok && listed && len(values) == 1 && !slices.Contains(have, values[0]) {
			return false
		}
	}
	return true
}

// listMissing lists what ours lacks of theirs. Both have the same type.
func (c *comparison) listMissing(at string, theirs, ours jsonSchema) []string {
	before := c.missing
	c.missing = nil
	c.compareEnums(at, theirs, ours)
	has := findPath(ours, "properties")
	for _, name := range slices.Sorted(maps.Keys(findPath(theirs, "properties"))) {
		p := findPath(theirs, "properties", name)
		switch o, ok := has[name].(jsonSchema); {
		case ok:
			c.compareSchema(at+"."+name, p, o)
		case ours["properties"] == nil && ours["additionalProperties"] != nil && ours["maxProperties"] == nil:
			c.compareSchema(at+"."+name, p, findPath(ours, "additionalProperties"))
		default:
			c.addMissing("%s.%s", at, name)
		}
	}
	if items := findPath(theirs, "items"); items != nil {
		c.compareSchema(at+"[]", items, findPath(ours, "items"))
	}
	if more := findPath(theirs, "additionalProperties"); len(more) > 0 && theirs["properties"] == nil {
		c.compareSchema(at+"{}", more, findPath(ours, "additionalProperties"))
	}
	lacks := c.missing
	c.missing = before
	return lacks
}

// compareEnums compares enums.
func (c *comparison) compareEnums(at string, theirs, ours jsonSchema) {
	want, _ := theirs["enum"].([]any)
	have, listed := ours["enum"].([]any)
	for _, v := range want {
		if listed && !slices.Contains(have, v) {
			c.addMissing("%s = %v", at, v)
		}
	}
}
