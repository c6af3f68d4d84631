package option

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// value says which JSON values something takes. The zero value takes any.
type value struct {
	kinds    string   // of values: " text, 0 number, t true and false, { object, [ list
	whole    bool     // numbers without a fraction
	min, max *float64 // of numbers
	words    []string // the only texts
	members  map[string]value
	items    *value
}

func text() value                   { return value{kinds: `"`} }
func word(words ...string) value    { return value{kinds: `"`, words: words} }
func flag() value                   { return value{kinds: `t`} }
func object() value                 { return value{kinds: `{`} }
func list(of value) value           { return value{kinds: `[`, items: &of} }
func from(min, max float64) value   { return value{kinds: `0`, min: &min, max: &max} }
func count(atLeast float64) value   { return value{kinds: `0`, whole: true, min: &atLeast} }
func with(m map[string]value) value { return value{kinds: `{`, members: m} }

// wrong finds the first thing that is wrong, by the name of the member that it stands in, and what is wanted there.
func (t value) wrong(v jsontext.Value) (inside, want string) {
	kind := v.Kind()
	if kind == 'f' {
		kind = 't'
	}
	if t.kinds != "" && !strings.ContainsRune(t.kinds, rune(kind)) {
		return "", t.want()
	}
	switch kind {
	case '"':
		var text string
		if t.words != nil && (json.Unmarshal(v, &text, foreign) != nil || !slices.Contains(t.words, text)) {
			return "", t.want()
		}
	case '0':
		if !t.holds(string(v)) {
			return "", t.want()
		}
	case '[':
		return t.wrongItem(v)
	case '{':
		return t.wrongMember(v)
	}
	return "", ""
}

// foreign accepts what other people's tools write.
var foreign = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (t value) holds(number string) bool {
	if t.whole {
		n, err := strconv.ParseInt(number, 10, 64)
		return err == nil && (t.min == nil || float64(n) >= *t.min) && (t.max == nil || float64(n) <= *t.max)
	}
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && !math.IsInf(n, 0) && (t.min == nil || n >= *t.min) && (t.max == nil || n <= *t.max)
}

func (t value) wrongItem(v jsontext.Value) (inside, want string) {
	var items []jsontext.Value
	if t.items == nil || json.Unmarshal(v, &items, foreign) != nil {
		return "", ""
	}
	for i, item := range items {
		if inner, want := t.items.wrong(item); want != "" {
			return below(strconv.Itoa(i), inner), want
		}
	}
	return "", ""
}

func (t value) wrongMember(v jsontext.Value) (inside, want string) {
	var members map[string]jsontext.Value
	if t.members == nil || json.Unmarshal(v, &members, foreign) != nil {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		takes, known := t.members[redact.FoldName(name)]
		if !known || members[name].Kind() == 'n' {
			continue
		}
		if inner, want := takes.wrong(members[name]); want != "" {
			return below(name, inner), want
		}
	}
	return "", ""
}

func below(name, inner string) string {
	if inner == "" {
		return name
	}
	return name + "." + inner
}

// want says what is taken.
func (t value) want() string {
	var all []string
	for _, kind := range t.kinds {
		switch kind {
		case '"':
			all = append(all, t.wantText()...)
		case '0':
			all = append(all, t.wantNumber())
		case 't':
			all = append(all, "true or false")
		case '{':
			all = append(all, "an object in braces")
		case '[':
			all = append(all, "a list in square brackets")
		}
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return strings.Join(all, "")
}

func (t value) wantText() []string {
	if t.words == nil {
		return []string{"text in quotes"}
	}
	var out []string
	for _, w := range t.words {
		out = append(out, strconv.Quote(w))
	}
	return out
}

func (t value) wantNumber() string {
	what := "a number"
	if t.whole {
		what = "a whole number"
	}
	switch {
	case t.min != nil && t.max != nil:
		return fmt.Sprintf("%s from %g to %g", what, *t.min, *t.max)
	case t.min != nil:
		return fmt.Sprintf("%s, %g or more", what, *t.min)
	default:
		return what
	}
}
