package catalog

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// variants returns the reasoning presets that the source lists, with those of the configuration over them
// (spec/v1 §30.6), by the order of efforts and then by name.
func (s *sourceModel) variants() []Variant {
	byID, headers := map[string]map[string]jsontext.Value{}, map[string]map[string]string{}
	for _, o := range s.ReasoningOptions {
		if o.Type != "effort" {
			continue
		}
		for _, v := range o.Values {
			var level string
			if json.Unmarshal(v, &level) == nil && level != "" {
				byID[level] = map[string]jsontext.Value{"reasoningEffort": v}
			}
		}
	}
	for id, v := range s.Variants {
		var own map[string]jsontext.Value
		if json.Unmarshal(v, &own, foreign) != nil {
			continue
		}
		if string(own["disabled"]) == "true" {
			delete(byID, id)
			continue
		}
		delete(own, "disabled")
		var carries map[string]string
		if json.Unmarshal(own["headers"], &carries, foreign) == nil {
			headers[id] = carries
		}
		delete(own, "headers")
		byID[id] = merged(byID[id], own)
	}
	out := make([]Variant, 0, len(byID))
	for _, id := range slices.SortedFunc(maps.Keys(byID), byEffort) {
		out = append(out, Variant{ID: id, Headers: merged(nil, headers[id]), Body: byID[id]})
	}
	return out
}

var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func byEffort(a, b string) int {
	i, j := slices.Index(efforts, a), slices.Index(efforts, b)
	switch {
	case i >= 0 && j >= 0:
		return i - j
	case i != j:
		return j - i // efforts before other names
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Variant returns the model's variant; false if it has none of that name. "" and "default" are always there, empty
// unless the model's request names a variant of its own (spec/v2 §19.4).
func (m Model) Variant(id string) (Variant, bool) {
	if id == "" || id == "default" {
		id = m.Request.Variant
	}
	if id == "" {
		return Variant{ID: "default"}, true
	}
	for _, v := range m.Variants {
		if v.ID == id {
			return v, true
		}
	}
	return Variant{}, false
}
