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

// valueSpec describes a set of JSON values. The zero value accepts any.
type valueSpec struct {
	types    string   // " text, 0 number, t boolean, { object, [ list
	whole    bool     // numbers without a fraction
	min, max *float64 // of numbers
	words    []string // the only valid texts
	members  map[string]valueSpec
	items    *valueSpec
}

func textValue() valueSpec                   { return valueSpec{types: `"`} }
func wordValue(words ...string) valueSpec    { return valueSpec{types: `"`, words: words} }
func boolValue() valueSpec                   { return valueSpec{types: `t`} }
func objectValue() valueSpec                 { return valueSpec{types: `{`} }
func listValue(of valueSpec) valueSpec       { return valueSpec{types: `[`, items: &of} }
func numberRange(min, max float64) valueSpec { return valueSpec{types: `0`, min: &min, max: &max} }

func minInteger(atLeast float64) valueSpec        { return valueSpec{types: `0`, whole: true, min: &atLeast} }
func objectWith(m map[string]valueSpec) valueSpec { return valueSpec{types: `{`, members: m} }

// findProblem returns the path of the first invalid member, and what is valid there.
func (t valueSpec) findProblem(v jsontext.Value) (inside, want string) {
	kind := v.Kind()
	if kind == 'f' {
		kind = 't'
	}
	if t.types != "" && !strings.ContainsRune(t.types, rune(kind)) {
		return "", t.describe()
	}
	switch kind {
	case '"':
		var text string
		if t.words != nil && (json.Unmarshal(v, &text, lenient) != nil || !slices.Contains(t.words, text)) {
			return "", t.describe()
		}
	case '0':
		if !t.acceptsNumber(string(v)) {
			return "", t.describe()
		}
	case '[':
		return t.findItemProblem(v)
	case '{':
		return t.findMemberProblem(v)
	}
	return "", ""
}

// lenient accepts JSON that other tools write.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (t valueSpec) acceptsNumber(number string) bool {
	if t.whole {
		n, err := strconv.ParseInt(number, 10, 64)
		return err == nil && (t.min == nil || float64(n) >= *t.min) && (t.max == nil || float64(n) <= *t.max)
	}
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && !math.IsInf(n, 0) && (t.min == nil || n >= *t.min) && (t.max == nil || n <= *t.max)
}

func (t valueSpec) findItemProblem(v jsontext.Value) (inside, want string) {
	var items []jsontext.Value
	if t.items == nil || json.Unmarshal(v, &items, lenient) != nil {
		return "", ""
	}
	for i, item := range items {
		if inner, want := t.items.findProblem(item); want != "" {
			return joinPath(strconv.Itoa(i), inner), want
		}
	}
	return "", ""
}

func (t valueSpec) findMemberProblem(v jsontext.Value) (inside, want string) {
	var members map[string]jsontext.Value
	if t.members == nil || json.Unmarshal(v, &members, lenient) != nil {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		takes, known := t.members[redact.FoldName(name)]
		if !known || members[name].Kind() == 'n' {
			continue
		}
		if inner, want := takes.findProblem(members[name]); want != "" {
			return joinPath(name, inner), want
		}
	}
	return "", ""
}

func joinPath(name, inner string) string {
	if inner == "" {
		return name
	}
	return name + "." + inner
}

// describe returns the valid values in words.
func (t valueSpec) describe() string {
	var all []string
	for _, kind := range t.types {
		switch kind {
		case '"':
			all = append(all, t.describeTexts()...)
		case '0':
			all = append(all, t.describeNumber())
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

func (t valueSpec) describeTexts() []string {
	if t.words == nil {
		return []string{"a string"}
	}
	var out []string
	for _, w := range t.words {
		out = append(out, strconv.Quote(w))
	}
	return out
}

func (t valueSpec) describeNumber() string {
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
