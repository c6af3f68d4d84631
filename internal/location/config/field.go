package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
)

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
		// An embedded struct adds its fields; those of Foreign are OpenCode's and have no effect.
		if f.Anonymous {
			more, _, _ := fieldsOf(f.Type)
			for name, inner := range more {
				inner.unused = f.Type == reflect.TypeFor[Foreign]()
				fields[name] = inner
			}
			continue
		}
		// The field with the option embed takes all other keys.
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
		d := spelling.Levenshtein(strings.ToLower(key), strings.ToLower(name))
		if d == 0 || d <= 2 && d*3 <= len(name) {
			return name
		}
	}
	return ""
}
