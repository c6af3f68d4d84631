package opencode

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// objectDiff is the difference between two JSON objects: members that were added or changed, members that were removed,
// and differences within nested objects.
type objectDiff struct {
	Set    map[string]jsontext.Value `json:"set,omitempty"`
	Unset  []string                  `json:"unset,omitempty"`
	Within map[string]*objectDiff    `json:"within,omitempty"`
}

// diffObjects returns the difference that turns from into to; nil if they are equal.
func diffObjects(from, to map[string]jsontext.Value) *objectDiff {
	d := &objectDiff{}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		was, is := from[name], to[name]
		switch {
		case was == nil:
			d.set(name, is)
		case equalJSON(was, is):
		case was.Kind() == '{' && is.Kind() == '{':
			if d.Within == nil {
				d.Within = map[string]*objectDiff{}
			}
			d.Within[name] = diffObjects(membersOfObject(was), membersOfObject(is))
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

func (d *objectDiff) set(name string, v jsontext.Value) {
	if d.Set == nil {
		d.Set = map[string]jsontext.Value{}
	}
	d.Set[name] = v
}

// apply changes the object. A difference within a member that is no longer an object is ignored.
func (d *objectDiff) apply(to map[string]jsontext.Value) {
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
		if inner := membersOfObject(to[name]); inner != nil {
			within.apply(inner)
			to[name] = objectOf(inner)
		}
	}
}

// addMissing adds members that the object lacks and changes no existing one.
func (d *objectDiff) addMissing(to map[string]jsontext.Value) {
	for name, v := range d.Set {
		if _, ok := to[name]; !ok {
			to[name] = v
		}
	}
	for name, within := range d.Within {
		if inner := membersOfObject(to[name]); inner != nil {
			within.addMissing(inner)
			to[name] = objectOf(inner)
		}
	}
}

// equalJSON reports whether two values are equal after canonicalization.
func equalJSON(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// membersOf returns the members of v's JSON object.
func membersOf(v any) map[string]jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return membersOfObject(b)
}
