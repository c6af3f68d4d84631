package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/config/upgrade"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// unfielded are the keys of a configuration that are not fields of Settings, because what reads a document takes them
// out of it.
var unfielded = []string{"permission", "tools", "mode", document.VersionKey}

// CheckKey returns an error that suggests the nearest key if a dotted key is unknown in all spellings. Keys below names
// that users choose are not checked.
func CheckKey(key string) error {
	if use := upgrade.DescribeReplaced(key); use != "" {
		return fmt.Errorf("%s %s", key, use)
	}
	words, t := strings.Split(key, "."), reflect.TypeFor[Settings]()
	for i, word := range words {
		if _, scalar := scalars[t]; scalar || t.Kind() != reflect.Struct {
			return nil
		}
		at := strings.Join(words[:i], ".")
		fields, open, _ := fieldsOf(t)
		if to, ok := document.OtherSpellings[at][word]; ok {
			word = to
		}
		f, known := fields[word]
		switch {
		case known:
			t = f.typ
		case !open && (at != "" || !slices.Contains(unfielded, word)):
			return fmt.Errorf("%s %s", document.JoinKey(at, word), unknownKeyMessage(word, at, fields))
		default:
			return nil
		}
	}
	return nil
}

// ListKeys returns the keys at the top of a configuration, sorted, without older spellings.
func ListKeys() []string {
	fields, _, _ := fieldsOf(reflect.TypeFor[Settings]())
	names := append(slices.Collect(maps.Keys(fields)), "permission", document.VersionKey) // which have no field
	slices.Sort(names)
	return names
}

// unknownKeyMessage reports an unknown key and suggests the nearest known one.
func unknownKeyMessage(key, path string, fields map[string]field) string {
	names := make([]string, 0, len(fields)+1)
	for name := range fields {
		names = append(names, name)
	}
	if path == "" {
		names = append(names, "permission", document.VersionKey) // the other keys without a field are older spellings
	}
	if near := spelling.FindNearest(key, names, 1); len(near) > 0 {
		return "is not a configuration key; did you mean " + near[0] + "?"
	}
	return "is not a configuration key"
}
