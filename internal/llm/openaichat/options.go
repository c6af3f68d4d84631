package openaichat

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// protected are the keys that the protocol owns, lower case and without underscores (spec/v2 §20.1 LM-2).
var protected = []string{
	"contents", "content", "frequencypenalty", "generationconfig", "inferenceconfig", "input",
	"maxcompletiontokens", "maxoutputtokens", "maxtokens", "messages", "model", "presencepenalty", "responseformat",
	"seed", "stop", "stopsequences", "stream", "streamoptions", "system", "systeminstruction", "temperature",
	"thinking", "toolchoice", "toolconfig", "tools", "topk", "topp",
}

// plainOptions are the semantic options that go out under another name and otherwise as they are.
var plainOptions = map[string]string{
	"logitBias":         "logit_bias",
	"parallelToolCalls": "parallel_tool_calls",
	"promptCacheKey":    "prompt_cache_key",
	"safetyIdentifier":  "safety_identifier",
	"serviceTier":       "service_tier",
	"store":             "store",
	"textVerbosity":     "verbosity",
	"user":              "user",
}

var routerOptions = []string{"provider", "reasoning", "transforms", "usage"}

// extra returns the body fields that are not the protocol's own: the semantic options in this vendor's spelling, then
// the compatibility fields over them. Options that Chat has no word for are other protocols' and are left out.
func (d Dialect) extra(req *llm.Request) (map[string]jsontext.Value, error) {
	out := map[string]jsontext.Value{}
	if d.CacheKey && req.CacheKey != "" {
		out["prompt_cache_key"] = quote(req.CacheKey)
	}
	if d.SeedField != "" && req.Generate.Seed != nil {
		out[d.SeedField] = strconv.AppendInt(nil, *req.Generate.Seed, 10)
	}
	for name, wire := range plainOptions {
		if v, ok := req.Options[name]; ok {
			out[wire] = v
		}
	}
	if d.Router {
		for _, name := range routerOptions {
			if v, ok := req.Options[name]; ok {
				out[name] = v
			}
		}
	}
	if err := d.effort(req.Options["reasoningEffort"], out); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(req.Body)) {
		if slices.Contains(protected, redact.Fold(name)) {
			return nil, invalid("the body field %q belongs to the protocol and cannot be set directly; use the setting of the same meaning instead", name)
		}
		out[name] = req.Body[name]
	}
	return out, nil
}

func (d Dialect) effort(v jsontext.Value, out map[string]jsontext.Value) error {
	if len(v) == 0 || d.Effort == EffortNone {
		return nil
	}
	var level string
	if err := json.Unmarshal(v, &level); err != nil {
		return invalid("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
	}
	if d.Effort == EffortPlain {
		out["reasoning_effort"] = quote(level)
		return nil
	}
	fields := map[string]jsontext.Value{}
	if err := json.Unmarshal(out["reasoning"], &fields); err != nil {
		fields = map[string]jsontext.Value{}
	}
	fields["effort"] = quote(level)
	merged, err := json.Marshal(fields, json.Deterministic(true))
	if err != nil {
		return invalid("the option reasoning cannot be written as JSON: %v", err)
	}
	out["reasoning"] = merged
	return nil
}
