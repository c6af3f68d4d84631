package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// reach limits the files that may set a key, by their distance from the user. Each value includes those before it.
type reach int

const (
	reachUser    reach = iota // the user's own files
	reachTrusted              // a trusted project's files
	reachProject              // any project's files
)

// reachOf returns the reach that the struct tag scope declares; without a tag it is that of the key above.
func reachOf(tag string, above reach) reach {
	switch tag {
	case "project":
		return reachProject
	case "trusted":
		return reachTrusted
	case "user":
		return reachUser
	default:
		return above
	}
}

// requiredReach returns the reach that a key needs so that a document of the scope may set it.
func (s scope) requiredReach() reach {
	switch s {
	case scopeProject:
		return reachProject
	case scopeTrusted:
		return reachTrusted
	default:
		return reachUser
	}
}

// field describes a key of a struct, from its tags.
type field struct {
	typ    reflect.Type
	scope  string
	doc    string
	unused bool
}

// fieldsOf returns the keys that a struct declares, whether it accepts other keys, too, and the scope of those.
func fieldsOf(t reflect.Type) (fields map[string]field, open bool, openScope string) {
	fields = map[string]field{}
	for f := range t.Fields() {
		if f.Anonymous {
			more, _, _ := fieldsOf(f.Type)
			for name, inner := range more {
				inner.unused = f.Type == reflect.TypeFor[Foreign]()
				fields[name] = inner
			}
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option == "embed" {
			open, openScope = true, f.Tag.Get("scope")
			continue
		}
		fields[name] = field{
			typ:    f.Type,
			scope:  f.Tag.Get("scope"),
			doc:    f.Tag.Get("doc"),
			unused: f.Tag.Get("unused") != "",
		}
	}
	return fields, open, openScope
}

// checker compares a document with the type that it decodes to. It reports unknown keys and removes keys that the
// document's scope may not set.
type checker struct {
	*loader
	doc *document
}

// checkNode checks n against t. above is the reach of the key that holds n.
func (c *checker) checkNode(n *node, t reflect.Type, path string, above reach) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.kind != '{' || t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return
	}
	var fields map[string]field
	open, openScope := true, ""
	if t.Kind() == reflect.Struct {
		fields, open, openScope = fieldsOf(t)
	}
	n.members = slices.DeleteFunc(n.members, func(m member) bool {
		f, known := fields[m.key]
		if t.Kind() == reflect.Map {
			f, known = field{typ: t.Elem()}, true
		}
		switch {
		case !known && !open:
			c.addWarning(c.doc.position(m.offset), WarnUnknown, join(path, m.key), unknownKeyMessage(m.key, path, fields))
			return c.doc.scope == scopeProject
		case !known:
			f.scope = openScope
			if near := suggestKey(m.key, t); near != "" {
				c.addWarning(
					c.doc.position(m.offset),
					WarnUnknown,
					join(path, m.key),
					"is not a configuration key; did you mean "+near+"?",
				)
			}
		}
		may := reachOf(f.scope, above)
		if f.typ == reflect.TypeFor[Command]() {
			may = c.commandReach(m.key, m.value)
		}
		if c.isRefused(m, join(path, m.key), may) {
			return true
		}
		if f.unused {
			c.addWarning(
				c.doc.position(m.offset),
				WarnUnused,
				join(path, m.key),
				"is a key of OpenCode that has no effect in cairn",
			)
		}
		if known {
			c.checkNode(m.value, f.typ, join(path, m.key), may)
		}
		return false
	})
}

// suggestKey returns the known key that key probably misspells, or "". Only structs with the tag known list enough keys
// to tell a misspelling from a foreign key.
func suggestKey(key string, t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	fields, _, _ := fieldsOf(t)
	extra, _ := t.FieldByName("Extra")
	others := strings.Fields(extra.Tag.Get("known"))
	if len(others) == 0 || slices.Contains(others, key) {
		return ""
	}
	names := append(slices.Collect(maps.Keys(fields)), others...)
	slices.Sort(names)
	for _, name := range names {
		d := spelling.MeasureDistance(strings.ToLower(key), strings.ToLower(name))
		if d == 0 || d <= 2 && d*3 <= len(name) {
			return name
		}
	}
	return ""
}

// isRefused reports whether the document may not set a key with the reach may, and adds a warning if so.
func (c *checker) isRefused(m member, key string, may reach) bool {
	switch {
	case may >= c.doc.scope.requiredReach():
		return false
	case may == reachTrusted:
		c.addWarning(c.doc.position(m.offset), WarnUntrusted, key, c.doc.untrustedReason())
		c.withheld = append(c.withheld, m)
	default:
		c.addWarning(
			c.doc.position(m.offset),
			WarnIgnored,
			key,
			"is ignored in a project's files: set it in your own configuration",
		)
	}
	return true
}

// decode turns the tree into settings. An error has the position of the invalid value and what is expected there; bad
// is that value.
func decode(root *node) (s Settings, bad *node, err error) {
	err = json.Unmarshal(root.encode(nil, substituted), &s)
	if err == nil {
		return s, nil, nil
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return s, root, root.doc.newError(root.offset, "", "cannot be read")
	}
	n, key := root.followPointer(e.JSONPointer)
	return s, n, n.doc.newError(n.offset, key, "%s", describeExpected(e, n))
}

// describeExpected says what a value should have been and what it is. Only values of types that accept a fixed set are
// quoted, because they cannot be secrets; of others the kind is named.
func describeExpected(e *json.SemanticError, n *node) string {
	if e.Err != nil && strings.HasPrefix(e.Err.Error(), "want ") {
		if e.GoType == reflect.TypeFor[auth.Secret]() {
			return e.Err.Error() + ", got " + n.kindName()
		}
		return e.Err.Error() + ", got " + n.formatExcerpt()
	}
	want := "something else"
	if t := e.GoType; t != nil {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.String:
			want = "a string"
		case reflect.Bool:
			want = "true or false"
		case reflect.Int, reflect.Int64, reflect.Float64:
			want = "a number"
		case reflect.Slice:
			want = "a list in square brackets"
		case reflect.Map, reflect.Struct:
			want = "an object in braces"
		}
	}
	return fmt.Sprintf("want %s, got %s", want, n.kindName())
}
