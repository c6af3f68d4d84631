package wire

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Snaked returns a value with the names of its members as the body of a request has them: SDKs spell max_uses maxUses.
// Texts stay, and so does what is no object or list.
func Snaked(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '{':
		o, ok := ReadObject(v)
		if !ok {
			return v
		}
		out := Object{}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			out[snake(name)] = Snaked(o[name])
		}
		return Write(out, v)
	case '[':
		items, ok := List(v)
		if !ok {
			return v
		}
		for i, item := range items {
			items[i] = Snaked(item)
		}
		return Write(items, v)
	default:
		return v
	}
}

func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
