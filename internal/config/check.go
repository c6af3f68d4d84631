package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/spelling"
)

// field is what a key of a struct is, from its tags.
type field struct {
	typ   reflect.Type
	scope string
}

// fieldsOf returns the keys that a struct names, and whether it takes others too, with whose files may set those.
func fieldsOf(t reflect.Type) (fields map[string]field, open bool, openScope string) {
	fields = map[string]field{}
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option == "embed" {
			open, openScope = true, f.Tag.Get("scope")
			continue
		}
		fields[name] = field{f.Type, f.Tag.Get("scope")}
	}
	return fields, open, openScope
}

// checker walks a document beside the type that it should have: it reports keys that nobody knows and, in a project's
// document, takes out what a project may not say.
type checker struct {
	*loader
	doc *document
}

// walk checks n against t. inert says that a project may set what stands here.
func (c *checker) walk(n *node, t reflect.Type, path string, inert bool) {
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
		key := join(path, m.key)
		f, known := fields[m.key]
		if t.Kind() == reflect.Map {
			f, known = field{typ: t.Elem()}, true
		}
		switch {
		case !known && !open:
			c.unknown(m, path, fields)
			return c.doc.scope == scopeProject
		case !known:
			f.scope = openScope
		}
		may := allows(inert, f.scope)
		if c.doc.scope == scopeProject && !may {
			c.warn(c.doc.place(m.offset), WarnIgnored, key, "is not taken from a project's files: set it in your own configuration")
			return true
		}
		if known {
			c.walk(m.value, f.typ, key, may)
		}
		return false
	})
}

// allows says whether a project may set a key with the scope tag, below one that it may set or not.
func allows(inherited bool, scope string) bool {
	switch scope {
	case "project":
		return true
	case "user":
		return false
	default:
		return inherited
	}
}

func (c *checker) unknown(m member, path string, fields map[string]field) {
	at, key := c.doc.place(m.offset), join(path, m.key)
	if path == "" && slices.Contains(strings.Fields(unusedKeys), m.key) {
		if c.doc.scope == scopeProject {
			c.warn(at, WarnIgnored, key, "is not taken from a project's files")
			return
		}
		c.warn(at, WarnUnused, key, "is a key of OpenCode that does nothing here")
		return
	}
	names := make([]string, 0, len(fields)+1)
	for name := range fields {
		names = append(names, name)
	}
	if path == "" {
		names = append(names, "permission")
	}
	message := "is not a key that cairn knows"
	if near := spelling.Nearest(m.key, names, 1); len(near) > 0 {
		message += "; did you mean " + near[0] + "?"
	}
	c.warn(at, WarnUnknown, key, message)
}

// decode turns the tree into settings. An error says where in its document the value stands and what is expected.
func decode(root *node) (Settings, error) {
	var s Settings
	err := json.Unmarshal(root.encode(nil, substituted), &s)
	if err == nil {
		return s, nil
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return s, root.doc.errorf(root.offset, "", "cannot be read")
	}
	n, key := root.at(e.JSONPointer)
	return s, n.doc.errorf(n.offset, key, "%s", expectation(e, n))
}

// expectation words what a value should have been. It shows the kind of what is there, never the value.
func expectation(e *json.SemanticError, n *node) string {
	if e.Err != nil && strings.HasPrefix(e.Err.Error(), "want ") {
		return e.Err.Error() + ", got " + n.kindName()
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
