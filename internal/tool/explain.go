package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// maxProblems bounds the problems reported about one input.
const maxProblems = 6

// problems collects messages about wrong keys of an input and the values expected there. It knows the keywords that
// tool schemas use; the library decides.
type problems struct {
	messages  []string
	anyNumber bool // numbers may be of any size
}

func (p *problems) add(format string, args ...any) {
	if len(p.messages) < maxProblems {
		p.messages = append(p.messages, fmt.Sprintf(format, args...))
	}
}

func (p *problems) check(s *jsonschema.Schema, v jsontext.Value, at string) {
	if s == nil || len(p.messages) >= maxProblems {
		return
	}
	if !hasAllowedType(s, v) {
		p.add("%s must be %s, not %s", quotePath(at), typePhrase(allowedTypes(s)), describeValue(v))
		return
	}
	if len(s.Enum) > 0 {
		p.checkEnum(s, v, at)
	}
	switch v.Kind() {
	case '{':
		p.checkObject(s, v, at)
	case '[':
		p.checkArray(s, v, at)
	case '0':
		p.checkNumber(s, v, at)
	case '"':
		if s.MinLength != nil && *s.MinLength > 0 && string(v) == `""` {
			p.add("%s must not be empty", quotePath(at))
		}
	}
}

func (p *problems) checkObject(s *jsonschema.Schema, v jsontext.Value, at string) {
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return
	}
	for _, key := range s.Required {
		if _, ok := members[key]; !ok {
			p.add("%s is missing (%s)", quotePath(joinKey(at, key)), typePhrase(allowedTypes(s.Properties[key])))
		}
	}
	given := make([]string, 0, len(members))
	for key := range members {
		given = append(given, key)
	}
	slices.Sort(given)
	for _, key := range given {
		sub, ok := s.Properties[key]
		switch {
		case ok:
			p.check(sub, members[key], joinKey(at, key))
		case isClosed(s):
			p.add("the key %q is unknown%s", session.ClipText(joinKey(at, key), 60), suggestKey(key, s))
		}
	}
}

func (p *problems) checkArray(s *jsonschema.Schema, v jsontext.Value, at string) {
	var items []jsontext.Value
	if s.Items == nil || json.Unmarshal(v, &items) != nil {
		return
	}
	for i, item := range items {
		p.check(s.Items, item, fmt.Sprintf("%s[%d]", at, i))
	}
}

func (p *problems) checkNumber(s *jsonschema.Schema, v jsontext.Value, at string) {
	n, err := strconv.ParseFloat(string(v), 64)
	_, notInt := strconv.ParseInt(string(v), 10, 64)
	switch {
	case !p.anyNumber && (err != nil || notInt != nil && typeOf(v) == "integer"):
		p.add("%s is out of range", quotePath(at))
	case s.Minimum != nil && n < *s.Minimum:
		p.add("%s must be at least %v, it is %s", quotePath(at), *s.Minimum, session.ClipText(string(v), 40))
	case s.Maximum != nil && n > *s.Maximum:
		p.add("%s must be at most %v, it is %s", quotePath(at), *s.Maximum, session.ClipText(string(v), 40))
	}
}

func (p *problems) checkEnum(s *jsonschema.Schema, v jsontext.Value, at string) {
	var text string
	if v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return
	}
	var allowed []string
	for _, e := range s.Enum {
		word, ok := e.(string)
		if !ok || word == text {
			return
		}
		allowed = append(allowed, strconv.Quote(word))
	}
	p.add("%s must be one of %s, not %s", quotePath(at), strings.Join(allowed, ", "), describeValue(v))
}

// isClosed reports whether the schema allows only the keys that it names.
func isClosed(s *jsonschema.Schema) bool {
	a := s.AdditionalProperties
	return a != nil && a.Not != nil && len(s.PatternProperties) == 0
}

func suggestKey(key string, s *jsonschema.Schema) string {
	bare := func(k string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(k)) }
	for _, k := range sortKeys(s) {
		if bare(k) == bare(key) {
			return fmt.Sprintf(", did you mean %q?", k)
		}
	}
	if near := spelling.FindNearest(key, sortKeys(s), 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ""
}

func joinKey(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func quotePath(at string) string {
	if at == "" {
		return "the input"
	}
	return strconv.Quote(session.ClipText(at, 80))
}

func typePhrase(types []string) string {
	var with []string
	for _, t := range types {
		switch t {
		case "integer", "object", "array":
			with = append(with, "an "+t)
		case "any":
			with = append(with, "any value")
		case "null":
			with = append(with, t)
		default:
			with = append(with, "a "+t)
		}
	}
	return strings.Join(with, " or ")
}

// describeValue returns the type of a value and, if it is short, its text.
func describeValue(v jsontext.Value) string {
	what := typePhrase([]string{typeOf(v)})
	if k := v.Kind(); k == '"' || k == '0' || k == 't' || k == 'f' {
		return what + " (" + session.ClipText(string(v), 40) + ")"
	}
	return what
}
