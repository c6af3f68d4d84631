package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cairn-dev/cairn/internal/spelling"
)

// maxProblems bounds what is said about one input.
const maxProblems = 6

// problems says in words which keys of an input are wrong and what is expected there. It knows the keywords that tool
// schemas use; the library has the last word.
type problems struct {
	said []string
	any  bool // numbers may be of any size: no program of ours takes them
}

func (p *problems) add(format string, args ...any) {
	if len(p.said) < maxProblems {
		p.said = append(p.said, fmt.Sprintf(format, args...))
	}
}

func (p *problems) look(s *jsonschema.Schema, v jsontext.Value, at string) {
	if s == nil || len(p.said) >= maxProblems {
		return
	}
	if !fits(s, v) {
		p.add("%s must be %s, not %s", named(at), article(types(s)), describe(v))
		return
	}
	if len(s.Enum) > 0 {
		p.enum(s, v, at)
	}
	switch v.Kind() {
	case '{':
		p.object(s, v, at)
	case '[':
		p.array(s, v, at)
	case '0':
		p.number(s, v, at)
	case '"':
		if s.MinLength != nil && *s.MinLength > 0 && string(v) == `""` {
			p.add("%s must not be empty", named(at))
		}
	}
}

func (p *problems) object(s *jsonschema.Schema, v jsontext.Value, at string) {
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return
	}
	for _, key := range s.Required {
		if _, ok := members[key]; !ok {
			p.add("%s is missing (%s)", named(join(at, key)), article(types(s.Properties[key])))
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
			p.look(sub, members[key], join(at, key))
		case closed(s):
			p.add("there is no key %q%s", clip(join(at, key), 60), meant(key, s))
		}
	}
}

func (p *problems) array(s *jsonschema.Schema, v jsontext.Value, at string) {
	var items []jsontext.Value
	if s.Items == nil || json.Unmarshal(v, &items) != nil {
		return
	}
	for i, item := range items {
		p.look(s.Items, item, fmt.Sprintf("%s[%d]", at, i))
	}
}

func (p *problems) number(s *jsonschema.Schema, v jsontext.Value, at string) {
	n, err := strconv.ParseFloat(string(v), 64)
	_, notInt := strconv.ParseInt(string(v), 10, 64)
	switch {
	case !p.any && (err != nil || notInt != nil && typeOf(v) == "integer"):
		p.add("%s is out of range", named(at))
	case s.Minimum != nil && n < *s.Minimum:
		p.add("%s must be at least %v, it is %s", named(at), *s.Minimum, clip(string(v), 40))
	case s.Maximum != nil && n > *s.Maximum:
		p.add("%s must be at most %v, it is %s", named(at), *s.Maximum, clip(string(v), 40))
	}
}

func (p *problems) enum(s *jsonschema.Schema, v jsontext.Value, at string) {
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
	p.add("%s must be one of %s, not %s", named(at), strings.Join(allowed, ", "), describe(v))
}

// closed reports whether the schema allows no keys but those it names.
func closed(s *jsonschema.Schema) bool {
	a := s.AdditionalProperties
	return a != nil && a.Not != nil && len(s.PatternProperties) == 0
}

func meant(key string, s *jsonschema.Schema) string {
	bare := func(k string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(k)) }
	for _, k := range keys(s) {
		if bare(k) == bare(key) {
			return fmt.Sprintf(", did you mean %q?", k)
		}
	}
	if near := spelling.Nearest(key, keys(s), 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ""
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func named(at string) string {
	if at == "" {
		return "the input"
	}
	return strconv.Quote(clip(at, 80))
}

func article(types []string) string {
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

// describe names a value by type and, when short, as it is.
func describe(v jsontext.Value) string {
	what := article([]string{typeOf(v)})
	if k := v.Kind(); k == '"' || k == '0' || k == 't' || k == 'f' {
		return what + " (" + clip(string(v), 40) + ")"
	}
	return what
}
