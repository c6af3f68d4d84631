package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/option"
	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// Options are request options sorted by who understands them (spec/v2 §19.6).
type Options struct {
	Generate llm.Generation
	Semantic map[string]jsontext.Value // by neutral name, for the protocol to encode
	Body     map[string]jsontext.Value // unknown to us; laid over the body as they are
	Dropped  []string                  // what was left out and why, for people; sorted
}

// Partition merges layers of options for a vendor, later ones winning (PT-2, PT-3: objects deeply, null deletes), and sorts
// them. What the vendor does not take is left out of its layer.
func Partition(at option.Vendor, layers ...map[string]jsontext.Value) Options {
	all, dropped := layered(at, layers...)
	out := Options{Semantic: map[string]jsontext.Value{}, Body: map[string]jsontext.Value{}, Dropped: dropped}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.sort(name, all[name])
	}
	return out
}

// layered merges layers of options, and says what it leaves out of them (PT-4).
func layered(at option.Vendor, layers ...map[string]jsontext.Value) (all map[string]jsontext.Value, dropped []string) {
	all = map[string]jsontext.Value{}
	for _, layer := range layers {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			if why := refused(name, layer[name], at); why != "" {
				dropped = append(dropped, why)
				continue
			}
			mergeOption(all, name, layer[name])
		}
	}
	slices.Sort(dropped)
	return all, slices.Compact(dropped)
}

// refused says why an option is not sent; "" if it is.
func refused(name string, v jsontext.Value, at option.Vendor) string {
	o := option.Find(name)
	if o.Domain == option.Reserved {
		return name + ": " + option.ReservedReason
	}
	switch inside, want := o.FindProblem(v, at); {
	case want == "":
		return ""
	case inside != "":
		return fmt.Sprintf("%s.%s: want %s", name, inside, want)
	default:
		return fmt.Sprintf("%s: want %s, got %.40s", name, want, v)
	}
}

// mergeOption lays one option over those before it, whichever way they spelt its name.
func mergeOption(all map[string]jsontext.Value, name string, v jsontext.Value) {
	folded := redact.FoldName(name)
	for old, before := range all {
		if redact.FoldName(old) == folded {
			delete(all, old)
			v = mergeJSON(before, v)
			break
		}
	}
	if len(v) > 0 && v.Kind() != 'n' {
		all[name] = v
	}
}

func (o *Options) sort(name string, v jsontext.Value) {
	switch known := option.Find(name); known.Domain {
	case option.Generation:
		before := o.Generate
		if known.Name == "stop" && v.Kind() == '"' {
			v = slices.Concat(jsontext.Value("["), v, jsontext.Value("]"))
		}
		if err := json.Unmarshal(v, o.generation(known.Name), foreign); err != nil {
			o.Generate = before // a failed read may have left half a value
			o.Dropped = append(o.Dropped, fmt.Sprintf("%s: %.40s is not a value for it", name, v))
		}
	case option.Semantic:
		o.Semantic[known.Name] = v
	case option.Foreign, option.Setting:
		o.Body[name] = v
	case option.Connection, option.Reserved:
	}
}

// generation returns where an option of the generation controls goes.
func (o *Options) generation(name string) any {
	g := &o.Generate
	switch name {
	case "temperature":
		return &g.Temperature
	case "topP":
		return &g.TopP
	case "topK":
		return &g.TopK
	case "maxTokens":
		return &g.MaxTokens
	case "frequencyPenalty":
		return &g.FrequencyPenalty
	case "presencePenalty":
		return &g.PresencePenalty
	case "seed":
		return &g.Seed
	default:
		return &g.Stop
	}
}
