package wire

import (
	"bytes"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// The limits of one answer.
const (
	MaxCalls     = 256
	MaxArguments = 8 << 20 // bytes of one call's arguments
	MaxName      = 256     // bytes of a tool's name, and of a provider's id
)

// CallIDs makes the call ids of one answer unique. The zero value is an answer without calls.
type CallIDs struct{ used map[string]bool }

// MakeUnique returns sent if it is new in this answer and not too long; else an id that is derived from answer, the id
// of the answer, so that it is also unlike the ids of earlier turns.
func (s *CallIDs) MakeUnique(sent, answer string) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	id := sent
	for n := len(s.used); id == "" || len(id) > MaxName || s.used[id]; n++ {
		id = fmt.Sprintf("call_%s_%d", ShortDigest(answer + "\x00" + sent)[:8], n)
	}
	s.used[id] = true
	return id
}

// ParseArguments returns the input of a call, or the reason why its argument text is invalid. An empty text means no
// arguments.
func ParseArguments(raw string) (input jsontext.Value, problem string) {
	// No arguments, or arguments that were encoded twice.
	v := jsontext.Value(strings.TrimSpace(raw))
	if len(v) == 0 || string(v) == "null" {
		return jsontext.Value("{}"), ""
	}
	if v.Kind() == '"' && v.IsValid() {
		if inner := jsontext.Value(DecodeString(v)); inner.Kind() == '{' && inner.IsValid(Foreign) {
			return dropRepeatedNames(inner, 0), ""
		}
	}
	// Broken JSON is repaired if there is one obvious way.
	if err := v.Compact(); err != nil {
		if repaired := repairArguments(v); repaired != nil {
			return repaired, ""
		}
		return nil, "the arguments are not valid JSON: " + describeJSONError(err)
	}
	if v.Kind() != '{' {
		return nil, "the arguments must be a JSON object"
	}
	// Some models repeat names: the last value of each counts.
	if !v.IsValid(jsontext.AllowInvalidUTF8(true)) {
		return dropRepeatedNames(v, 0), ""
	}
	return jsontext.Value(raw), ""
}

// maxRepeatDepth bounds the objects in objects in which dropRepeatedNames looks for repeated names.
const maxRepeatDepth = 64

// dropRepeatedNames returns the valid value v with only the last value of each repeated name, as JSON.parse reads it. A
// value keeps the place of the first one of its name.
//
// It reads members or items one by one; for an item, the name is nil.
func dropRepeatedNames(v jsontext.Value, depth int) jsontext.Value {
	// Leave what has no repeated name, or is nested too deeply, as it is.
	kind := v.Kind()
	if kind != '{' && kind != '[' || depth > maxRepeatDepth || v.IsValid(jsontext.AllowInvalidUTF8(true)) {
		return v
	}
	// Read the members or items.
	dec := jsontext.NewDecoder(bytes.NewReader(v), Foreign)
	_, err := dec.ReadToken()
	isObject := kind == '{'
	var names, values []jsontext.Value
	at := map[string]int{}
	for err == nil && dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		i := len(values)
		names, values = append(names, nil), append(values, nil)
		if isObject {
			var name jsontext.Value
			name, err = dec.ReadValue()
			names[i] = name.Clone()
			if first, ok := at[DecodeString(name)]; ok {
				names, values, i = names[:i], values[:i], first
			}
			at[DecodeString(name)] = i
		}
		var next jsontext.Value
		if err == nil {
			next, err = dec.ReadValue()
			values[i] = dropRepeatedNames(next.Clone(), depth+1)
		}
	}
	if err != nil {
		return v
	}
	return joinMembers(names, values, isObject)
}

// joinMembers returns the object of the names and values, or the list of the values.
func joinMembers(names, values []jsontext.Value, isObject bool) jsontext.Value {
	ends := "[]"
	if isObject {
		ends = "{}"
	}
	out := []byte{ends[0]}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		if isObject {
			out = append(append(out, names[i]...), ':')
		}
		out = append(out, v...)
	}
	return append(out, ends[1])
}

// trailingMarks matches what servers leave behind a call's arguments: closing brackets and tags.
var trailingMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s|[}\]]|</[\w:.-]+>|<[|｜][^<>\s]*[|｜]>|\[/[A-Z_]+\]|` + "```" + `)*$`)
})

// repairArguments returns the object of an argument text that a server damaged in a way with one possible repair: the
// text repeats the object, has {} before it or closing marks after it, or has each piece of a stream with all pieces
// before it. It is nil if there is no such repair.
func repairArguments(v jsontext.Value) jsontext.Value {
	// Read objects until the text is no JSON any more. All of them must be equal, or {}.
	var found, canonical jsontext.Value
	end := int64(0)
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		next, err := dec.ReadValue()
		if err != nil {
			break
		}
		end = dec.InputOffset()
		if next.Kind() != '{' {
			return nil
		}
		object := next.Clone()
		if err := object.Canonicalize(); err != nil {
			return nil
		}
		switch {
		case len(canonical) <= len(`{}`):
			found, canonical = next.Clone(), object
		case string(object) != `{}` && string(object) != string(canonical):
			return nil
		}
	}
	// Only closing marks may follow.
	if found != nil && trailingMarks().Match(v[end:]) {
		return found
	}
	return findRepeated(v)
}

// findRepeated returns the object at the end of a text if all text before it consists of beginnings of that object. It
// tries the first maxStarts positions at which the object can begin.
func findRepeated(v jsontext.Value) jsontext.Value {
	const maxStarts = 256
	for from, n := 1, 0; n < maxStarts && from < len(v); n++ {
		i := bytes.IndexByte(v[from:], '{')
		if i < 0 {
			return nil
		}
		whole := v[from+i:]
		from += i + 1
		if whole.IsValid() && isMadeOfPrefixes(v[:len(v)-len(whole)], whole) {
			return whole
		}
	}
	return nil
}

// isMadeOfPrefixes reports whether the text consists of beginnings of whole.
func isMadeOfPrefixes(text, whole jsontext.Value) bool {
	for len(text) > 0 {
		n := 0
		for n < len(text) && n < len(whole) && text[n] == whole[n] {
			n++
		}
		if n < len(text) {
			n = bytes.LastIndexByte(text[:n+1], '{')
		}
		if n <= 0 {
			return false
		}
		text = text[n:]
	}
	return true
}

// describeJSONError returns the problem that a JSON parser found, without the parser's name.
func describeJSONError(err error) string {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%v at byte %d", e.Err, e.ByteOffset)
	}
	return err.Error()
}

// NormalizeInput returns v if it is an object, else an empty object. Vendors refuse any other input in a recorded call.
func NormalizeInput(v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || !v.IsValid(Foreign) {
		return jsontext.Value("{}")
	}
	return v
}

// IsWord reports whether s is not empty and consists of letters, digits and the characters of more.
func IsWord(s, more string) bool {
	for _, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(more, r)
		if !ok {
			return false
		}
	}
	return s != ""
}

// ShortDigest returns a short stable name for s: 13 lower-case letters and digits.
func ShortDigest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)))
}

// maxIdentifier bounds the call ids and tool names of a request. It is the limit of the strictest vendor.
const maxIdentifier = 64

// NormalizeID returns a call id that vendors accept: an id that is empty or too long becomes a digest. Equal ids stay
// equal and different ids stay different.
func NormalizeID(id string) string {
	if id == "" || len(id) > maxIdentifier {
		return "call_" + ShortDigest(id)
	}
	return id
}

// NormalizeToolName returns a tool name that all vendors accept. A model can call a tool by any name, and vendors
// refuse each later request that repeats an invalid one. Equal names stay equal and different names stay different.
func NormalizeToolName(name string) string {
	if !IsWord(name, "_-") || len(name) > maxIdentifier || !IsWord(name[:1], "_") || name[0] >= '0' && name[0] <= '9' {
		return "tool_" + ShortDigest(name)
	}
	return name
}
