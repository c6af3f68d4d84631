package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// Facts are what is known of models, read once for the many catalogs that are made of them. They never change.
type Facts struct {
	raw      map[string]jsontext.Value  // by provider, without what cannot be read
	read     map[string]*sourceProvider // the same
	problems []Problem
}

// Problem is a row of facts that cannot be read. It is left out, and the others are not.
type Problem struct {
	Name string // provider, or provider/model
	Why  string
}

func (p Problem) String() string { return fmt.Sprintf("%.100q: %s", p.Name, p.Why) }

// maxProblems is how many rows are told of.
const maxProblems = 100

// Problems are the rows that cannot be read, by their names.
func (f *Facts) Problems() []Problem { return f.problems }

// Parse reads facts in the shape of models.dev's api.json. The error says that there are none at all.
func Parse(data []byte) (*Facts, error) {
	f := &Facts{read: map[string]*sourceProvider{}}
	if json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &f.raw, foreign) != nil {
		return nil, errNoFacts
	}
	models := 0
	for _, id := range slices.Sorted(maps.Keys(f.raw)) {
		s, raw := f.provider(id, f.raw[id])
		if s == nil {
			delete(f.raw, id)
			continue
		}
		f.raw[id], f.read[id] = raw, s
		models += len(s.Models)
	}
	if models == 0 {
		return nil, errNoFacts
	}
	return f, nil
}

var errNoFacts = errors.New("is no list of models")

func (f *Facts) wrong(name, why string) {
	if len(f.problems) < maxProblems {
		f.problems = append(f.problems, Problem{name, why})
	}
}

// provider reads one provider as far as it can be read, and what of its text that is.
func (f *Facts) provider(id string, raw jsontext.Value) (*sourceProvider, jsontext.Value) {
	switch {
	case id == "":
		f.wrong(id, "a provider without a name")
		return nil, nil
	case raw.Kind() != '{':
		f.wrong(id, "want an object, got "+option.DescribeKind(raw.Kind()))
		return nil, nil
	}
	if s, err := decode(id, raw); err == nil && s.Models[""] == nil && !slices.Contains(slices.Collect(maps.Values(s.Models)), nil) {
		return s, raw
	}
	raw = f.readable(id, raw)
	s, err := decode(id, raw)
	if err != nil {
		f.wrong(id, reason(err))
		return nil, nil
	}
	return s, raw
}

// readable returns a provider without the fields and the models that cannot be read.
func (f *Facts) readable(id string, raw jsontext.Value) jsontext.Value {
	var fields, models map[string]jsontext.Value
	if err := json.Unmarshal(raw, &fields, foreign); err != nil {
		return raw
	}
	if v := fields["models"]; len(v) > 0 && json.Unmarshal(v, &models, foreign) != nil {
		f.wrong(id, "models: want an object, got "+option.DescribeKind(v.Kind()))
	}
	delete(fields, "models")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := json.Unmarshal(written(map[string]jsontext.Value{name: fields[name]}), &sourceProvider{}, foreign); err != nil {
			f.wrong(id, reason(err))
			delete(fields, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(models)) {
		if why := misread(key, models[key]); why != "" {
			f.wrong(id+"/"+key, why)
			delete(models, key)
		}
	}
	fields["models"] = written(models)
	return written(fields)
}

// misread says why a model cannot be read; "" if it can.
func misread(key string, raw jsontext.Value) string {
	if key == "" {
		return "a model without a name"
	}
	if raw.Kind() != '{' {
		return "want an object, got " + option.DescribeKind(raw.Kind())
	}
	if err := json.Unmarshal(raw, &sourceModel{}, foreign); err != nil {
		return reason(err)
	}
	return ""
}

func written(members map[string]jsontext.Value) jsontext.Value {
	raw, err := json.Marshal(members, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return raw
}

// reason words why something cannot be read: where in it, and what is wanted there.
func reason(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return "it is no JSON"
	}
	at := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	want := "something else"
	switch {
	case errors.Is(err, errFraction), errors.Is(err, errNegative):
		want = e.Err.Error()
	case e.GoType == reflect.TypeFor[Price]():
		want = "a price"
	case e.GoType != nil:
		switch e.GoType.Kind() {
		case reflect.String:
			want = "text"
		case reflect.Bool:
			want = "true or false"
		case reflect.Int, reflect.Int64:
			want = "a whole number"
		case reflect.Slice:
			want = "a list"
		case reflect.Map, reflect.Struct:
			want = "an object"
		}
	}
	if at == "" {
		return "want " + want
	}
	return fmt.Sprintf("%.100s: want %s", at, want)
}

// embedded are the facts that ship in the binary.
var embedded = sync.OnceValues(func() (*Facts, error) { return Parse(snapshot) })

// decode reads one provider; there may be nothing to read.
func decode(id string, raw jsontext.Value) (*sourceProvider, error) {
	s := &sourceProvider{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, s, foreign); err != nil {
			return nil, err
		}
	}
	s.ID = id
	for key, m := range s.Models {
		if m != nil {
			m.key = key
		}
	}
	return s, nil
}
