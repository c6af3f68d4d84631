package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Options are request options sorted by who understands them (spec/v2 §19.6).
type Options struct {
	Generate llm.Generation
	Semantic map[string]jsontext.Value // by neutral name, for the protocol to encode
	Body     map[string]jsontext.Value // unknown to us; laid over the body as they are
	Dropped  []string                  // what was left out and why, for people; sorted
}

// semantic are the options with a meaning that protocols encode, by their folded spelling.
var semantic = foldNames(
	"reasoningEffort", "reasoningSummary", "textVerbosity", "store", "include", "serviceTier", "promptCacheKey",
	"instructions", "parallelToolCalls", "logitBias", "user", "safetyIdentifier", "promptCacheRetention", "maxToolCalls",
	"thinking", "effort", "taskBudget", "disableParallelToolUse", "sendReasoning", "mcpServers", "contextManagement", "inferenceGeo", "cacheControl", "cacheTTL",
	"thinkingConfig", "safetySettings", "responseModalities", "mediaResolution", "imageConfig", "cachedContent",
	"reasoningConfig", "guardrailConfig", "additionalModelRequestFields",
	"usage", "reasoning", "provider", "transforms",
)

// transport are the options that configure the connection; they never reach a body.
var transport = foldNames(
	"apiKey", "authToken", "organization", "project", "baseURL", "headers", "timeout", "chunkTimeout", "headerTimeout",
	"connectTimeout", "setCacheKey", "enterpriseUrl",
)

// words are what the options of an enumeration may be, as far as there is one that every vendor keeps to.
var words = map[string][]string{
	"reasoningSummary": {"auto", "concise", "detailed", "none"},
	"textVerbosity":    {"low", "medium", "high"},
	"cacheTTL":         {"5m", "1h"},
}

// refused says what is wrong with a semantic option that is no word of its enumeration; "" for nothing (PT-4).
func refused(neutral string, v jsontext.Value) string {
	var word string
	switch allowed, ok := words[neutral]; {
	case neutral == "reasoningEffort" && json.Unmarshal(v, &word) != nil:
		return "is not a word" // which, the model's facts say
	case ok && (json.Unmarshal(v, &word) != nil || !slices.Contains(allowed, word)):
		return "is none of " + strings.Join(allowed, ", ")
	}
	return ""
}

func foldNames(names ...string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[foldName(n)] = n
	}
	return out
}

// foldName makes maxTokens, max_tokens and max-tokens one.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Partition merges layers of options, later ones winning (PT-2, PT-3: objects deeply, null deletes), and sorts them.
func Partition(layers ...map[string]jsontext.Value) Options {
	all := map[string]jsontext.Value{}
	for _, layer := range layers {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			mergeOption(all, name, layer[name])
		}
	}
	out := Options{Semantic: map[string]jsontext.Value{}, Body: map[string]jsontext.Value{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.sort(name, all[name])
	}
	return out
}

// mergedOptions lays options over others as Partition does, and changes base.
func mergedOptions(base, over map[string]jsontext.Value) map[string]jsontext.Value {
	for _, name := range slices.Sorted(maps.Keys(over)) {
		mergeOption(base, name, over[name])
	}
	return base
}

// mergeOption lays one option over those before it, whichever way they spelt its name.
func mergeOption(all map[string]jsontext.Value, name string, v jsontext.Value) {
	folded := foldName(name)
	for old, before := range all {
		if foldName(old) == folded {
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
	folded := foldName(name)
	before := o.Generate
	if target := o.generation(folded); target != nil {
		if err := json.Unmarshal(v, target, foreign); err != nil {
			o.Generate = before // a failed read may have left half a value
			o.Dropped = append(o.Dropped, fmt.Sprintf("%s: %.40s is not a value for it", name, v))
		}
		return
	}
	if neutral, ok := semantic[folded]; ok {
		if why := refused(neutral, v); why != "" {
			o.Dropped = append(o.Dropped, fmt.Sprintf("%s: %.40s %s", name, v, why))
			return
		}
		o.Semantic[neutral] = v
		return
	}
	if _, ok := transport[folded]; !ok {
		o.Body[name] = v
	}
}

// generation returns where an option of the generation controls goes; nil if it is none.
func (o *Options) generation(folded string) any {
	g := &o.Generate
	switch folded {
	case "temperature":
		return &g.Temperature
	case "topp":
		return &g.TopP
	case "topk":
		return &g.TopK
	case "maxtokens", "maxoutputtokens", "maxcompletiontokens":
		return &g.MaxTokens
	case "frequencypenalty":
		return &g.FrequencyPenalty
	case "presencepenalty":
		return &g.PresencePenalty
	case "seed":
		return &g.Seed
	case "stop", "stopsequences":
		return &g.Stop
	default:
		return nil
	}
}
