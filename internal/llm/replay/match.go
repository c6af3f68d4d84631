package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// volatileFields are the body fields that differ between runs of the same conversation.
var volatileFields = []string{"prompt_cache_key", "promptCacheKey", "safety_identifier"}

// systemFields are the fields of system texts at the top of a body, by protocol.
var systemFields = []string{"system", "systemInstruction", "instructions"}

// canonicalBody returns the body in a form that is equal for equal meaning. If not strict, system texts are ignored.
func canonicalBody(r request, strict bool) []byte {
	tree, ok := parse(r)
	if !ok {
		return []byte(r.Body)
	}
	if fields, ok := tree.(map[string]any); ok {
		for _, name := range volatileFields {
			delete(fields, name)
		}
		if !strict {
			dropSystem(fields)
		}
	}
	out, err := json.Marshal(tree, json.Deterministic(true))
	if err != nil {
		return []byte(r.Body)
	}
	return out
}

func parse(r request) (any, bool) {
	var tree any
	if r.Body == "" || r.BodyEncoding != "" {
		return nil, false
	}
	err := json.Unmarshal([]byte(r.Body), &tree, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return tree, err == nil
}

func dropSystem(fields map[string]any) {
	for _, name := range systemFields {
		delete(fields, name)
	}
	for _, name := range []string{"messages", "input"} {
		list, _ := fields[name].([]any)
		for _, m := range list {
			if entry, ok := m.(map[string]any); ok && (entry["role"] == "system" || entry["role"] == "developer") {
				delete(entry, "content")
			}
		}
	}
}

// describeDifference returns in one sentence how a request differs from the recorded one.
func describeDifference(recorded, asked request) string {
	if !sameAddress(asked, recorded) {
		return fmt.Sprintf("it was %s %s, not %s %s", recorded.Method, recorded.URL, asked.Method, asked.URL)
	}
	a, okA := parse(recorded)
	b, okB := parse(asked)
	if okA && okB {
		if at, old, now, found := firstDifference("", a, b); found {
			return fmt.Sprintf("its body has %s at %s, not %s", old, at, now)
		}
	}
	return "its body is different"
}

// firstDifference compares two JSON trees and returns the pointer and the values of the first difference.
func firstDifference(at string, a, b any) (where, old, now string, found bool) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return objectDifference(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			for i := range min(len(a), len(b)) {
				if where, old, now, found = firstDifference(fmt.Sprintf("%s/%d", at, i), a[i], b[i]); found {
					return where, old, now, true
				}
			}
			if len(a) != len(b) {
				return at, fmt.Sprintf("%d entries", len(a)), fmt.Sprint(len(b)), true
			}
			return "", "", "", false
		}
	default:
		if a == b {
			return "", "", "", false
		}
	}
	return at, formatValue(a), formatValue(b), true
}

func objectDifference(at string, a, b map[string]any) (where, old, now string, found bool) {
	names := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path := at + "/" + name
		va, okA := a[name]
		vb, okB := b[name]
		switch {
		case at == "" && slices.Contains(volatileFields, name):
		case !okB:
			return path, formatValue(va), "nothing", true
		case !okA:
			return path, "nothing", formatValue(vb), true
		default:
			if where, old, now, found = firstDifference(path, va, vb); found {
				return where, old, now, true
			}
		}
	}
	return "", "", "", false
}

// formatValue returns a short form of a value for a message.
func formatValue(v any) string {
	const limit = 80
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	if r := []rune(string(out)); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(out)
}
