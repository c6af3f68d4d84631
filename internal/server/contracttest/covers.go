package contracttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Lacks says what the document theirs promises and ours does not: operations, parameters, what bodies may hold, statuses,
// members of answers and values of enums. What stands in a component is said of that once, under its name.
func Lacks(theirs, ours []byte) ([]string, error) {
	c := &covering{seen: map[string]bool{}}
	if err := json.Unmarshal(theirs, &c.theirs); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(ours, &c.ours); err != nil {
		return nil, err
	}
	for path, at := range c.theirs["paths"].(schema) {
		for method, op := range at.(schema) {
			c.operation(strings.ToUpper(method)+" "+path, op.(schema), dig(c.ours, "paths", path, method))
		}
	}
	slices.Sort(c.lacks)
	return slices.Compact(c.lacks), nil
}

type schema = map[string]any

// covering is one comparison.
type covering struct {
	theirs, ours schema
	seen         map[string]bool // pairs of schemas that were compared
	lacks        []string
}

func (c *covering) lack(format string, args ...any) {
	c.lacks = append(c.lacks, fmt.Sprintf(format, args...))
}

func dig(s schema, path ...string) schema {
	for _, name := range path {
		s, _ = s[name].(schema)
	}
	return s
}

func (c *covering) operation(name string, theirs, ours schema) {
	if ours == nil {
		c.lack("%s", name)
		return
	}
	if id := theirs["operationId"]; id != nil && id != ours["operationId"] {
		c.lack("%s operationId %v", name, theirs["operationId"])
	}
	c.parameters(name, theirs, ours)
	if body := dig(theirs, "requestBody", "content", "application/json", "schema"); body != nil {
		c.covers(name+" body", body, dig(ours, "requestBody", "content", "application/json", "schema"))
	}
	for status, answer := range dig(theirs, "responses") {
		our := dig(ours, "responses", status)
		if our == nil {
			c.lack("%s %s", name, status)
			continue
		}
		if status[0] != '2' {
			continue // what is said in refusals is held against what OpenCode says, which is not what its document says
		}
		for media, content := range dig(answer.(schema), "content") {
			c.covers(name+" "+status, content.(schema)["schema"].(schema), dig(our, "content", media, "schema"))
		}
	}
}

func (c *covering) parameters(name string, theirs, ours schema) {
	find := func(p schema) schema {
		list, _ := ours["parameters"].([]any)
		for _, q := range list {
			if q := q.(schema); q["name"] == p["name"] && q["in"] == p["in"] {
				return q
			}
		}
		return nil
	}
	list, _ := theirs["parameters"].([]any)
	for _, p := range list {
		p := p.(schema)
		switch q := find(p); {
		case q == nil:
			c.lack("%s %s parameter %s", name, p["in"], p["name"])
		case q["required"] == true && p["required"] != true:
			c.lack("%s %s parameter %s: optional", name, p["in"], p["name"])
		default:
			c.values(fmt.Sprintf("%s %s parameter %s", name, p["in"], p["name"]), dig(p, "schema"), dig(q, "schema"))
		}
	}
}

// resolve follows references; the name is that of the last.
func resolve(doc, s schema) (name string, out schema) {
	for ref, ok := s["$ref"].(string); ok; ref, ok = s["$ref"].(string) {
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		s = dig(doc, "components", "schemas", name)
	}
	return name, s
}

// variants returns what a value may be.
func variants(doc, s schema) (out []schema) {
	_, s = resolve(doc, s)
	for _, word := range []string{"anyOf", "oneOf"} {
		if list, ok := s[word].([]any); ok {
			for _, v := range list {
				out = append(out, variants(doc, v.(schema))...)
			}
			return out
		}
	}
	return []schema{s}
}

func (c *covering) covers(at string, theirs, ours schema) {
	name, t := resolve(c.theirs, theirs)
	if name != "" {
		at = name
	}
	if ours == nil {
		c.lack("%s", at)
		return
	}
	_, o := resolve(c.ours, ours)
	pair := fmt.Sprintf("%s %p %p", at, t, o)
	if c.seen[pair] {
		return
	}
	c.seen[pair] = true
	if len(o) == 0 {
		if len(t) > 0 && !anything(t) {
			c.lack("%s: what it holds", at)
		}
		return
	}
	all := variants(c.ours, o)
	for _, v := range variants(c.theirs, t) {
		where := at
		if n := c.componentOf(v); n != "" {
			where = n
		} else if tag := tagOf(v); tag != "" {
			where += "<" + tag + ">"
		}
		c.variant(where, v, all)
	}
}

// componentOf returns the name of their component that s is.
func (c *covering) componentOf(s schema) string {
	for name, v := range dig(c.theirs, "components", "schemas") {
		if v, ok := v.(schema); ok && len(s) > 0 && fmt.Sprintf("%p", v) == fmt.Sprintf("%p", s) {
			return name
		}
	}
	return ""
}

// anything reports whether s is an object of which nothing is said.
func anything(s schema) bool {
	return s["properties"] == nil && s["items"] == nil && s["anyOf"] == nil && s["enum"] == nil && (s["type"] == nil || s["type"] == "object")
}

// tagOf returns the value by which a variant is told from others.
func tagOf(s schema) string {
	for _, by := range []string{"type", "role", "status", "name", "_tag"} {
		if values, ok := dig(s, "properties", by)["enum"].([]any); ok && len(values) == 1 {
			return fmt.Sprint(by, "=", values[0])
		}
	}
	return ""
}

// variant finds the one of ours that can be theirs.
func (c *covering) variant(at string, theirs schema, ours []schema) {
	if theirs["type"] == "null" {
		return
	}
	var fit []schema
	for _, o := range ours {
		if len(o) == 0 {
			return
		}
		if sameType(theirs["type"], o["type"]) && c.sameTag(theirs, o) {
			fit = append(fit, o)
		}
	}
	if len(fit) == 0 {
		c.lack("%s", at)
		return
	}
	best := c.against(at, theirs, fit[0])
	for _, o := range fit[1:] {
		if lacks := c.against(at, theirs, o); len(lacks) < len(best) {
			best = lacks
		}
	}
	c.lacks = append(c.lacks, best...)
}

func sameType(theirs, ours any) bool {
	return theirs == ours || theirs == "number" && ours == "integer" || theirs == "integer" && ours == "number" || ours == nil || theirs == nil
}

// sameTag reports whether no member with one value in both has different ones.
func (c *covering) sameTag(theirs, ours schema) bool {
	for name, p := range dig(theirs, "properties") {
		_, p := resolve(c.theirs, p.(schema))
		values, ok := p["enum"].([]any)
		_, o := resolve(c.ours, dig(ours, "properties", name))
		have, listed := o["enum"].([]any)
		if ok && listed && len(values) == 1 && !slices.Contains(have, values[0]) {
			return false
		}
	}
	return true
}

// against returns what ours lacks of theirs, which are of one type.
func (c *covering) against(at string, theirs, ours schema) []string {
	before := c.lacks
	c.lacks = nil
	c.values(at, theirs, ours)
	has := dig(ours, "properties")
	for _, name := range slices.Sorted(maps.Keys(dig(theirs, "properties"))) {
		p := dig(theirs, "properties", name)
		switch o, ok := has[name].(schema); {
		case ok:
			c.covers(at+"."+name, p, o)
		case ours["properties"] == nil && ours["additionalProperties"] != nil && ours["maxProperties"] == nil:
			c.covers(at+"."+name, p, dig(ours, "additionalProperties"))
		default:
			c.lack("%s.%s", at, name)
		}
	}
	if items := dig(theirs, "items"); items != nil {
		c.covers(at+"[]", items, dig(ours, "items"))
	}
	if more := dig(theirs, "additionalProperties"); len(more) > 0 && theirs["properties"] == nil {
		c.covers(at+"{}", more, dig(ours, "additionalProperties"))
	}
	lacks := c.lacks
	c.lacks = before
	return lacks
}

// values compares enums.
func (c *covering) values(at string, theirs, ours schema) {
	want, _ := theirs["enum"].([]any)
	have, listed := ours["enum"].([]any)
	for _, v := range want {
		if listed && !slices.Contains(have, v) {
			c.lack("%s = %v", at, v)
		}
	}
}
