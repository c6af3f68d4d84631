package exchange

import (
	"bytes"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// misspelt finds a member of the body that no field of t has, but for its case: it would be ignored, and was meant.
// Members that are like none survive or are ignored, as OpenCode does.
func misspelt(t reflect.Type, body jsontext.Value) (path, meant string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && body.Kind() == '{':
		fields := fieldsOf(t)
		for name, value := range values(body) {
			field, known := fields[name]
			switch {
			case !known:
				if meant := likeButForCase(name, fields); meant != "" {
					return Clip(name, 60), meant
				}
			case composed(field):
				if path, meant := misspelt(field, value); path != "" {
					return name + dot(path), meant
				}
			}
		}
	case t.Kind() == reflect.Slice && body.Kind() == '[':
		for index, value := range values(body) {
			if path, meant := misspelt(t.Elem(), value); path != "" {
				return "[" + index + "]" + dot(path), meant
			}
		}
	}
	return "", ""
}

// fieldsOf returns the members that a struct is read from.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func likeButForCase(name string, fields map[string]reflect.Type) string {
	for f := range fields {
		if strings.EqualFold(f, name) {
			return f
		}
	}
	return ""
}

// composed reports whether values of t hold members that can be misspelt.
func composed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return composed(t.Elem())
	default:
		return t.Kind() == reflect.Struct
	}
}

// values yields what an object or a list holds, by name or index, without copying it.
func values(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
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

// dot joins a path to what it is below of.
func dot(path string) string {
	if strings.HasPrefix(path, "[") {
		return path
	}
	return "." + path
}
