package wire

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// SnakeCaseNames converts the member names in v to the spelling of request bodies: SDKs spell max_uses maxUses. Strings
// and other values are unchanged.
func SnakeCaseNames(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '{':
		o, ok := ReadObject(v)
		if !ok {
			return v
		}
		out := Object{}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			out[toSnakeCase(name)] = SnakeCaseNames(o[name])
		}
		return MarshalOr(out, v)
	case '[':
		items, ok := ReadList(v)
		if !ok {
			return v
		}
		for i, item := range items {
			items[i] = SnakeCaseNames(item)
		}
		return MarshalOr(items, v)
	default:
		return v
	}
}

func toSnakeCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
