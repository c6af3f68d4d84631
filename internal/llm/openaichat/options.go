package openaichat

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// plainOptions are the options that are sent under another name and otherwise unchanged.
var plainOptions = map[string]string{
	"logitBias":            "logit_bias",
	"metadata":             "metadata",
	"parallelToolCalls":    "parallel_tool_calls",
	"promptCacheKey":       "prompt_cache_key",
	"promptCacheRetention": "prompt_cache_retention",
	"safetyIdentifier":     "safety_identifier",
	"serviceTier":          "service_tier",
	"store":                "store",
	"textVerbosity":        "verbosity",
	"user":                 "user",
}

var routerOptions = []string{"provider", "reasoning", "transforms", "usage"}

// extraFields returns the body fields that do not belong to the protocol: the options in the vendor's spelling, and the
// request's extra body fields over them. It ignores options of other protocols.
func (d Dialect) extraFields(req *llm.Request) (map[string]jsontext.Value, error) {
	out := map[string]jsontext.Value{}
	if d.CacheKey && req.CacheKey != "" {
		out["prompt_cache_key"] = wire.Quote(req.CacheKey)
	}
	if d.SeedField != "" && req.Generate.Seed != nil {
		out[d.SeedField] = strconv.AppendInt(nil, *req.Generate.Seed, 10)
	}
	for name, field := range plainOptions {
		if v, ok := req.Options[name]; ok {
			out[field] = v
		}
	}
	if v, ok := req.Options["thinking"]; ok && d.Thinking {
		out["thinking"] = v
	}
	if d.Router || d.Open {
		for _, name := range routerOptions {
			if v, ok := req.Options[name]; ok {
				out[name] = v
			}
		}
	}
	if err := d.setEffort(req.Options["reasoningEffort"], out); err != nil {
		return nil, err
	}
	return out, wire.OverlayBody(out, req)
}

func (d Dialect) setEffort(v jsontext.Value, out map[string]jsontext.Value) error {
	if len(v) == 0 || d.Effort == EffortNone {
		return nil
	}
	var level string
	if err := json.Unmarshal(v, &level); err != nil {
		return wire.NewInvalidRequest("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
	}
	if d.Effort == EffortPlain {
		out["reasoning_effort"] = wire.Quote(level)
		return nil
	}
	fields := map[string]jsontext.Value{}
	if err := json.Unmarshal(out["reasoning"], &fields); err != nil {
		fields = map[string]jsontext.Value{}
	}
	fields["effort"] = wire.Quote(level)
	merged, err := json.Marshal(fields, json.Deterministic(true))
	if err != nil {
		return wire.NewInvalidRequest("the option reasoning cannot be encoded as JSON: %v", err)
	}
	out["reasoning"] = merged
	return nil
}
