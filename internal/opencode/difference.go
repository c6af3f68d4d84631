package opencode

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// difference is how one JSON object differs from another: members that it has or has otherwise, members that it lacks,
// and objects within both that differ.
type difference struct {
	Set    map[string]jsontext.Value `json:"set,omitempty"`
	Unset  []string                  `json:"unset,omitempty"`
	Within map[string]*difference    `json:"within,omitempty"`
}

// differenceOf is what makes to of from; nil if they say the same.
func differenceOf(from, to map[string]jsontext.Value) *difference {
	d := &difference{}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		was, is := from[name], to[name]
		switch {
		case was == nil:
			d.set(name, is)
		case same(was, is):
		case was.Kind() == '{' && is.Kind() == '{':
			if d.Within == nil {
				d.Within = map[string]*difference{}
			}
			d.Within[name] = differenceOf(members(was), members(is))
		default:
			d.set(name, is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[name]; !ok {
			d.Unset = append(d.Unset, name)
		}
	}
	if len(d.Set)+len(d.Unset)+len(d.Within) == 0 {
		return nil
	}
	return d
}

func (d *difference) set(name string, v jsontext.Value) {
	if d.Set == nil {
		d.Set = map[string]jsontext.Value{}
	}
	d.Set[name] = v
}

// apply changes the object. What differs within a member that is no object any more is left alone.
func (d *difference) apply(to map[string]jsontext.Value) {
	if d == nil {
		return
	}
	for name, v := range d.Set {
		to[name] = v
	}
	for _, name := range d.Unset {
		delete(to, name)
	}
	for name, within := range d.Within {
		if inner := members(to[name]); inner != nil {
			within.apply(inner)
			to[name] = object(inner)
		}
	}
}

// add adds what the object lacks, and changes nothing of what it has.
func (d *difference) add(to map[string]jsontext.Value) {
	for name, v := range d.Set {
		if _, ok := to[name]; !ok {
			to[name] = v
		}
	}
	for name, within := range d.Within {
		if inner := members(to[name]); inner != nil {
			within.add(inner)
			to[name] = object(inner)
		}
	}
}

// same reports whether both values say the same, whatever their spelling.
func same(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// membersOf are those of any value's JSON object.
func membersOf(v any) map[string]jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return members(b)
}
