package httpio

import (
	"bytes"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json/jsontext"
)

// Exact is implemented by types whose unknown and missing members are refused, because ignoring one would do the
// opposite of what the client meant, such as lifting a limit. Members with omitzero may be missing.
type Exact interface{ RefusesUnknownMembers() }

// findWrongMember finds a member of the body that differs from a field of t only in case: decoding would ignore it,
// although the client meant the field. Other unknown members are ignored, as in OpenCode, except in Exact types.
// problem says what is wrong with the member at path; it is "" if nothing is.
func findWrongMember(t reflect.Type, body jsontext.Value) (path, problem string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && body.Kind() == '{':
		return findWrongField(t, body)
	case t.Kind() == reflect.Slice && body.Kind() == '[':
		for index, value := range listMembers(body) {
			if path, problem := findWrongMember(t.Elem(), value); problem != "" {
				return "[" + index + "]" + joinPath(path), problem
			}
		}
	}
	return "", ""
}

func findWrongField(t reflect.Type, body jsontext.Value) (path, problem string) {
	fields := jsonFields(t)
	exact, seen := t.Implements(reflect.TypeFor[Exact]()), map[string]bool{}
	for name, value := range listMembers(body) {
		field, known := fields[name]
		seen[name] = true
		switch {
		case !known:
			if meant := findFoldedName(name, fields); meant != "" {
				return session.ClipText(name, 60), "is unknown; upper and lower case count: did you mean " + meant + "?"
			}
			if exact {
				return session.ClipText(name, 60), "is unknown; want " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
			}
		case hasMembers(field):
			if path, problem := findWrongMember(field, value); problem != "" {
				return name + joinPath(path), problem
			}
		}
	}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if exact && !strings.Contains(options, "omitzero") && !seen[name] {
			return name, "is missing"
		}
	}
	return "", ""
}

// jsonFields returns the members from which a struct is decoded.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func findFoldedName(name string, fields map[string]reflect.Type) string {
	for f := range fields {
		if strings.EqualFold(f, name) {
			return f
		}
	}
	return ""
}

// hasMembers reports whether values of t contain members that can be misspelled.
func hasMembers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return hasMembers(t.Elem())
	default:
		return t.Kind() == reflect.Struct
	}
}

// listMembers yields the members of an object or a list, by name or index, without copying them.
func listMembers(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(v))
		open, err := d.ReadToken()
		for i := 0; err == nil && d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
			name := strconv.Itoa(i)
			if open.Kind() == '{' {
				var token jsontext.Token
				if token, err = d.ReadToken(); err != nil {
					return
				}
				name = token.String()
			}
			var value jsontext.Value
			if value, err = d.ReadValue(); err != nil || !yield(name, value) {
				return
			}
		}
	}
}

// joinPath returns the path with a dot in front, unless it begins with an index.
func joinPath(path string) string {
	if strings.HasPrefix(path, "[") {
		return path
	}
	return "." + path
}
