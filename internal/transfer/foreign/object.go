package foreign

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep the JSON of a source may nest. A message holds such a value a few levels deeper than its source.
const maxDepth = 500

// Object is a JSON object of a source. Its methods return the zero value for a member that is missing or of another
// type, since one odd member must not cost the row.
type Object map[string]jsontext.Value

// ParseObject parses an object as tolerantly as other programs' parsers: the last of equal names counts, and half
// surrogate pairs become U+FFFD. The reason says why it cannot be read, without its text; it is "" otherwise.
func ParseObject(data []byte) (o Object, reason string) {
	switch {
	case isDeep(data):
		return nil, "it is nested too deeply"
	case jsontext.Value(data).Kind() != '{':
		return nil, "it is not a JSON object"
	}
	err := json.Unmarshal(data, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return o, ""
	}
	reason = "it is not valid JSON"
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.ByteOffset >= int64(len(data)) {
		reason = "it is cut off"
	}
	return nil, reason
}

// isDeep reports whether the JSON nests deeper than maxDepth.
func isDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Has reports whether the member is there and not null.
func (o Object) Has(name string) bool { v, ok := o[name]; return ok && v.Kind() != 'n' }

// Text returns the member's string.
func (o Object) Text(name string) string { return textOf(o[name]) }

// Object returns the member's object, nil without one.
func (o Object) Object(name string) Object { return objectOf(o[name]) }

// Objects returns the objects of the member's list.
func (o Object) Objects(name string) []Object {
	var out []Object
	for _, v := range o.List(name) {
		if e := objectOf(v); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// List returns the values of the member's list.
func (o Object) List(name string) []jsontext.Value {
	var out []jsontext.Value
	if o[name].Kind() != '[' || decode(o[name], &out) != nil {
		return nil
	}
	return out
}

// Texts returns the strings of the member's list.
func (o Object) Texts(name string) []string {
	var out []string
	for _, v := range o.List(name) {
		if v.Kind() == '"' {
			out = append(out, textOf(v))
		}
	}
	return out
}

// Bool returns the member's boolean.
func (o Object) Bool(name string) bool { return o[name].Kind() == 't' }

// Int returns the member's number, 0 if it is negative or not finite. Counts of sources are never negative.
func (o Object) Int(name string) int64 {
	var f float64
	if o[name].Kind() != '0' || decode(o[name], &f) != nil || f < 0 || f > 1<<52 {
		return 0
	}
	return int64(f)
}

// Time returns the member's RFC 3339 time, or its number of seconds or milliseconds, in milliseconds; 0 without one.
func (o Object) Time(name string) int64 {
	if n := o.Int(name); n > 0 {
		if n < 1e11 { // seconds until the year 5138
			n = int64(math.Round(o.float(name) * 1000))
		}
		return min(n, maxTime)
	}
	t, err := time.Parse(time.RFC3339, o.Text(name))
	if err != nil {
		return 0
	}
	return max(0, min(t.UnixMilli(), maxTime))
}

// maxTime is the last millisecond of the year 9999.
const maxTime = 253_402_300_799_999

func (o Object) float(name string) float64 {
	var f float64
	_ = decode(o[name], &f)
	return f
}

// Value returns the object in JSON that cairn stores: valid UTF-8, every name once.
func (o Object) Value() jsontext.Value {
	if o == nil {
		return jsontext.Value("{}")
	}
	clean := make(map[string]jsontext.Value, len(o))
	for name, v := range o {
		clean[name] = cleanValue(v)
	}
	out, err := json.Marshal(clean, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return out
}

// cleanValue returns the value itself if it is strictly valid, else decoded and encoded anew.
func cleanValue(v jsontext.Value) jsontext.Value {
	if v.IsValid() {
		return v
	}
	var any any
	if decode(v, &any) != nil {
		return jsontext.Value("null")
	}
	out, err := json.Marshal(any, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return out
}

// Rename returns the object with members renamed: pairs of their name and ours. A member of our name stays, and of
// several that get one name the first of the pairs counts.
func (o Object) Rename(pairs ...string) Object {
	out := Object{}
	for name, v := range o {
		if i := slices.Index(pairs, name); i < 0 || i%2 == 1 {
			out[name] = v
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v, ok := o[pairs[i]]; ok && !out.Has(pairs[i+1]) {
			out[pairs[i+1]] = v
		}
	}
	return out
}

// Quote returns the text as a JSON value.
func Quote(text string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, cleanText(text))
	}
	return b
}

func objectOf(v jsontext.Value) Object {
	var o Object
	if v.Kind() != '{' || decode(v, &o) != nil {
		return nil
	}
	return o
}

func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || decode(v, &s) != nil {
		return ""
	}
	return s
}

func decode(v jsontext.Value, into any) error {
	return json.Unmarshal(v, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
