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

// Options are request options, sorted by what interprets them.
type Options struct {
	Generate llm.Generation
	Semantic map[string]jsontext.Value // by neutral name, for the protocol to encode
	Body     map[string]jsontext.Value // unknown options, laid over the body as they are
	Dropped  []string                  // what was left out and why, for messages; sorted
}

// Partition merges layers of options for a vendor, in which later ones win (objects deeply, null deletes), and sorts
// them. Options that the vendor does not take are dropped.
func Partition(at option.Vendor, layers ...map[string]jsontext.Value) Options {
	all, dropped := mergeLayers(at, layers...)
	out := Options{Semantic: map[string]jsontext.Value{}, Body: map[string]jsontext.Value{}, Dropped: dropped}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.setOption(name, all[name])
	}
	return out
}

// mergeLayers merges layers of options and says which it drops.
func mergeLayers(
	at option.Vendor,
	layers ...map[string]jsontext.Value,
) (all map[string]jsontext.Value, dropped []string) {
	all = map[string]jsontext.Value{}
	for _, layer := range layers {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			if why := rejectReason(name, layer[name], at); why != "" {
				dropped = append(dropped, why)
				continue
			}
			mergeOption(all, name, layer[name])
		}
	}
	slices.Sort(dropped)
	return all, slices.Compact(dropped)
}

// rejectReason says why an option is not sent; "" if it is.
func rejectReason(name string, v jsontext.Value, at option.Vendor) string {
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

// mergeOption lays one option over the earlier ones, in whichever spelling they have its name.
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

func (o *Options) setOption(name string, v jsontext.Value) {
	switch known := option.Find(name); known.Domain {
	case option.Generation:
		before := o.Generate
		if known.Name == "stop" && v.Kind() == '"' {
			v = slices.Concat(jsontext.Value("["), v, jsontext.Value("]"))
		}
		if err := json.Unmarshal(v, o.generationField(known.Name), lenientJSON); err != nil {
			o.Generate = before // undoes a failed decode
			o.Dropped = append(o.Dropped, fmt.Sprintf("%s: the value %.40s is invalid", name, v))
		}
	case option.Semantic:
		o.Semantic[known.Name] = v
	case option.Foreign, option.Setting:
		o.Body[name] = v
	case option.Connection, option.Reserved:
	}
}

// generationField returns the field for an option of the generation controls.
func (o *Options) generationField(name string) any {
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
