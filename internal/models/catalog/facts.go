package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// Facts describe models, parsed once for the many catalogs that are built from them. They never change.
type Facts struct {
	raw       map[string]jsontext.Value  // by provider, without unreadable rows
	providers map[string]*sourceProvider // parsed
	problems  []Problem
	// What a fetched list may not say, by provider and by provider/model; nil for other facts.
	providersWithheld, modelsWithheld map[string]Withheld
}

// Problem is a row of facts that cannot be read. It is left out; the others are used.
type Problem struct {
	Name string // provider, or provider/model
	Why  string
}

func (p Problem) String() string { return fmt.Sprintf("%.100q: %s", p.Name, p.Why) }

// maxProblems bounds the problems that are reported.
const maxProblems = 100

// Parse parses facts in the shape of models.dev's api.json. It fails if the data lists no provider.
func Parse(data []byte) (*Facts, error) {
	f := &Facts{providers: map[string]*sourceProvider{}}
	if json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &f.raw, lenientJSON) != nil {
		return nil, errNoFacts
	}
	// Parse the providers beside each other: there are megabytes, and the first prompt waits for them.
	ids := slices.Sorted(maps.Keys(f.raw))
	parsed := make([]parsedProvider, len(ids))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(ids); i = next.Add(1) - 1 {
				parsed[i] = parseProvider(ids[i], f.raw[ids[i]])
			}
		})
	}
	workers.Wait()
	// Keep those that can be read, in their order.
	models := 0
	for i, p := range parsed {
		f.problems = append(f.problems, p.problems...)
		if p.source == nil {
			delete(f.raw, ids[i])
			continue
		}
		f.raw[ids[i]], f.providers[ids[i]] = p.raw, p.source
		models += len(p.source.Models)
	}
	f.problems = f.problems[:min(len(f.problems), maxProblems)]
	if models == 0 {
		return nil, errNoFacts
	}
	return f, nil
}

var errNoFacts = errors.New("is not a list of models")

// parsedProvider is a provider with the part of its JSON that is valid; source is nil if nothing of it is.
type parsedProvider struct {
	source   *sourceProvider
	raw      jsontext.Value
	problems []Problem
}

func (p *parsedProvider) addProblem(name, why string) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, Problem{name, why})
	}
}

// parseProvider parses a provider, without the fields and models that cannot be read.
func parseProvider(id string, raw jsontext.Value) (p parsedProvider) {
	switch {
	case id == "":
		p.addProblem(id, "a provider without a name")
		return p
	case raw.Kind() != '{':
		p.addProblem(id, "want an object, got "+option.DescribeKind(raw.Kind()))
		return p
	}
	s, err := decodeProvider(id, raw)
	if err == nil && s.Models[""] == nil && !slices.Contains(slices.Collect(maps.Values(s.Models)), nil) {
		p.source, p.raw = s, raw
		return p
	}
	p.raw = p.dropUnreadable(id, raw)
	if p.source, err = decodeProvider(id, p.raw); err != nil {
		p.addProblem(id, problemText(err))
		p.source = nil
	}
	return p
}

// dropUnreadable returns a provider without the fields and models that cannot be read.
func (p *parsedProvider) dropUnreadable(id string, raw jsontext.Value) jsontext.Value {
	var fields, models map[string]jsontext.Value
	if err := json.Unmarshal(raw, &fields, lenientJSON); err != nil {
		return raw
	}
	// Take the models out, so that each part is tested alone.
	if v := fields["models"]; len(v) > 0 && json.Unmarshal(v, &models, lenientJSON) != nil {
		p.addProblem(id, "models: want an object, got "+option.DescribeKind(v.Kind()))
	}
	delete(fields, "models")
	// Drop each field that cannot be read, then each model.
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := marshalMembers(map[string]jsontext.Value{name: fields[name]})
		if err := json.Unmarshal(field, &sourceProvider{}, lenientJSON); err != nil {
			p.addProblem(id, problemText(err))
			delete(fields, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(models)) {
		if why := modelProblem(key, models[key]); why != "" {
			p.addProblem(id+"/"+key, why)
			delete(models, key)
		}
	}
	// Put the rest together again.
	fields["models"] = marshalMembers(models)
	return marshalMembers(fields)
}

// modelProblem says why a model cannot be read; "" if it can.
func modelProblem(key string, raw jsontext.Value) string {
	if key == "" {
		return "a model without a name"
	}
	if raw.Kind() != '{' {
		return "want an object, got " + option.DescribeKind(raw.Kind())
	}
	if err := json.Unmarshal(raw, &sourceModel{}, lenientJSON); err != nil {
		return problemText(err)
	}
	return ""
}

func marshalMembers(members map[string]jsontext.Value) jsontext.Value {
	raw, err := json.Marshal(members,
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return raw
}

// problemText says where a value cannot be read, and what is expected there.
func problemText(err error) string {
	// Only an error of types has a place; anything else is broken JSON.
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return "it is not JSON"
	}
	at := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	// Say what is expected: the error's own words, or the kind of the Go type that the value must fit.
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
	// The place is empty if the whole value is meant.
	if at == "" {
		return "want " + want
	}
	return fmt.Sprintf("%.100s: want %s", at, want)
}

// embedded returns the facts in the binary.
var embedded = sync.OnceValues(func() (*Facts, error) { return Parse(snapshot) })

// decodeProvider parses one provider. Empty JSON gives an empty one.
func decodeProvider(id string, raw jsontext.Value) (*sourceProvider, error) {
	s := &sourceProvider{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, s, lenientJSON); err != nil {
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

// ParseFetched is Parse for facts that were fetched. Addresses and variables are those of the facts in the binary:
// the list can change without notice, and could name any address and any variable of the environment.
func ParseFetched(data []byte) (*Facts, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	known, err := embedded()
	if err != nil {
		return nil, err
	}
	f.providersWithheld, f.modelsWithheld = map[string]Withheld{}, map[string]Withheld{}
	// An unknown provider keeps no address and no variables; a known one gets those of the binary.
	for id, s := range f.providers {
		builtin := known.providers[id]
		if builtin == nil {
			f.providersWithheld[id] = Withheld{URL: s.API, Env: s.Env}
			builtin = &sourceProvider{}
		}
		s.API, s.Env = builtin.API, builtin.Env
		// A model may name an address of its own, if the binary has it too.
		for key, m := range s.Models {
			if m.Provider.API != "" && !builtin.hasModelAddress(m.Provider.API) {
				f.modelsWithheld[id+"/"+key] = Withheld{URL: m.Provider.API}
				m.Provider.API = ""
			}
		}
	}
	return f, nil
}

// hasModelAddress reports whether one of the provider's models is at the address.
func (s *sourceProvider) hasModelAddress(url string) bool {
	for _, m := range s.Models {
		if m.Provider.API == url {
			return true
		}
	}
	return false
}
