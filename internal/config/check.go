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

// reach says whose files may set a key: each can also be set by those before it.
type reach int

const (
	reachUser    reach = iota // the user's own
	reachTrusted              // a trusted project's
	reachProject              // anybody's
)

// reachOf reads the tag scope of a key below one with the reach.
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

// of says how far a key must reach so that a document of the scope may set it.
func (s scope) of() reach {
	switch s {
	case scopeProject:
		return reachProject
	case scopeTrusted:
		return reachTrusted
	default:
		return reachUser
	}
}

// field is what a key of a struct is, from its tags.
type field struct {
	typ    reflect.Type
	scope  string
	doc    string
	unused bool
}

// fieldsOf returns the keys that a struct names, and whether it takes others too, with whose files may set those.
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
		fields[name] = field{typ: f.Type, scope: f.Tag.Get("scope"), doc: f.Tag.Get("doc"), unused: f.Tag.Get("unused") != ""}
	}
	return fields, open, openScope
}

// checker walks a document beside the type that it should have: it reports keys that nobody knows and, in a project's
// document, takes out what a project may not say.
type checker struct {
	*loader
	doc *document
}

// walk checks n against t. above says whose files may set what stands here.
func (c *checker) walk(n *node, t reflect.Type, path string, above reach) {
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
			c.warn(c.doc.place(m.offset), WarnUnknown, join(path, m.key), unknown(m.key, path, fields))
			return c.doc.scope == scopeProject
		case !known:
			f.scope = openScope
			if meant := misspelt(m.key, t); meant != "" {
				c.warn(c.doc.place(m.offset), WarnUnknown, join(path, m.key), "is not a key that cairn knows; did you mean "+meant+"?")
			}
		}
		may := reachOf(f.scope, above)
		if f.typ == reflect.TypeFor[Command]() {
			may = c.commandReach(m.key, m.value)
		}
		if c.refused(m, join(path, m.key), may) {
			return true
		}
		if f.unused {
			c.warn(c.doc.place(m.offset), WarnUnused, join(path, m.key), "is a key of OpenCode that does nothing here")
		}
		if known {
			c.walk(m.value, f.typ, join(path, m.key), may)
		}
		return false
	})
}

// misspelt returns the key that one of an open struct was probably meant for. Only structs whose further keys are listed
// (the tag known) can tell a misspelling from a key of somebody else.
func misspelt(key string, t reflect.Type) string {
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
		d := spelling.Distance(strings.ToLower(key), strings.ToLower(name))
		if d == 0 || d <= 2 && d*3 <= len(name) {
			return name
		}
	}
	return ""
}

// refused reports, and tells, that the document may not set a key that reaches so far.
func (c *checker) refused(m member, key string, may reach) bool {
	switch {
	case may >= c.doc.scope.of():
		return false
	case may == reachTrusted:
		c.warn(c.doc.place(m.offset), WarnUntrusted, key, c.doc.untrusted())
		c.withheld = append(c.withheld, m)
	default:
		c.warn(c.doc.place(m.offset), WarnIgnored, key, "is not taken from a project's files: set it in your own configuration")
	}
	return true
}

// decode turns the tree into settings. An error says where in its document the value stands and what is expected; bad is
// that value.
func decode(root *node) (s Settings, bad *node, err error) {
	err = json.Unmarshal(root.encode(nil, substituted), &s)
	if err == nil {
		return s, nil, nil
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return s, root, root.doc.errorf(root.offset, "", "cannot be read")
	}
	n, key := root.at(e.JSONPointer)
	return s, n, n.doc.errorf(n.offset, key, "%s", expectation(e, n))
}

// expectation words what a value should have been. Types that read only certain values hold no secrets: those are shown.
// Of all others it says the kind of what is there, never the value.
func expectation(e *json.SemanticError, n *node) string {
	if e.Err != nil && strings.HasPrefix(e.Err.Error(), "want ") {
		if e.GoType == reflect.TypeFor[auth.Secret]() {
			return e.Err.Error() + ", got " + n.kindName()
		}
		return e.Err.Error() + ", got " + n.said()
	}
	want := "something else"
	if t := e.GoType; t != nil {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.String:
			want = "text in quotes"
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
