package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
)

// unfielded are the keys of a configuration that are no fields of Settings: shape turns them into others.
var unfielded = []string{"permission", "tools", "mode"}

// CheckKey returns nil for a dotted key that cairn knows, in any of its spellings; else the error says what may have
// been meant. What stands below names that people choose is not looked at.
func CheckKey(key string) error {
	words, t := strings.Split(key, "."), reflect.TypeFor[Settings]()
	for i, word := range words {
		if _, scalar := scalars[t]; scalar || t.Kind() != reflect.Struct {
			return nil
		}
		at := strings.Join(words[:i], ".")
		fields, open, _ := fieldsOf(t)
		if to, ok := renamed[at][word]; ok {
			word = to
		}
		f, known := fields[word]
		switch {
		case known:
			t = f.typ
		case !open && (at != "" || !slices.Contains(unfielded, word)):
			return fmt.Errorf("%s %s", join(at, word), unknown(word, at, fields))
		default:
			return nil
		}
	}
	return nil
}

// unknown words that there is no such key at the path, and which it may have been meant for.
func unknown(key, path string, fields map[string]field) string {
	names := make([]string, 0, len(fields)+1)
	for name := range fields {
		names = append(names, name)
	}
	if path == "" {
		names = append(names, "permission") // the others are older ways
	}
	if near := spelling.Nearest(key, names, 1); len(near) > 0 {
		return "is not a key that cairn knows; did you mean " + near[0] + "?"
	}
	return "is not a key that cairn knows"
}
