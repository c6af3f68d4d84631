package openairesponses

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// plainOptions are the options that are sent under another name and otherwise unchanged.
var plainOptions = map[string]string{
	"instructions":         "instructions",
	"maxToolCalls":         "max_tool_calls",
	"metadata":             "metadata",
	"parallelToolCalls":    "parallel_tool_calls",
	"promptCacheKey":       "prompt_cache_key",
	"promptCacheRetention": "prompt_cache_retention",
	"safetyIdentifier":     "safety_identifier",
	"serviceTier":          "service_tier",
	"truncation":           "truncation",
	"user":                 "user",
}

// encryptedReasoning is the value of include that returns reasoning for use without storage.
const encryptedReasoning = "reasoning.encrypted_content"

// options are the body fields that the request's options set.
type options struct {
	store bool
	text  map[string]jsontext.Value
	extra map[string]jsontext.Value
}

// parseOptions returns the options in the protocol's spelling, and the request's extra body fields over them. It
// ignores options of other protocols.
func (d Dialect) parseOptions(req *llm.Request) (options, error) {
	o := options{text: map[string]jsontext.Value{}, extra: map[string]jsontext.Value{}}
	if v, ok := req.Options["store"]; ok && json.Unmarshal(v, &o.store) != nil {
		return o, wire.NewInvalidRequest("the option store must be true or false, not %.40s", v)
	}
	if !d.NoCacheKey && req.CacheKey != "" {
		o.extra["prompt_cache_key"] = wire.Quote(req.CacheKey)
	}
	for name, wireName := range plainOptions {
		if v, ok := req.Options[name]; ok {
			o.extra[wireName] = v
		}
	}
	if v, ok := req.Options["textVerbosity"]; ok {
		o.text["verbosity"] = v
	}
	if len(req.OutputSchema) > 0 {
		schema, strict := wire.StrictSchema(req.OutputSchema)
		o.text["format"] = wire.MarshalOr(
			jsonFormat{Type: "json_schema", Name: "answer", Schema: schema, Strict: strict}, nil,
		)
	}
	if err := d.setReasoning(req.Options, req.Tools, o); err != nil {
		return o, err
	}
	return o, wire.OverlayBody(o.extra, req)
}

// setReasoning sets reasoning and include.
func (d Dialect) setReasoning(from map[string]jsontext.Value, tools []llm.ToolDefinition, o options) error {
	// The members of reasoning.
	fields := wire.Object{}
	for name, wireName := range map[string]string{"reasoningEffort": "effort", "reasoningSummary": "summary"} {
		v, ok := from[name]
		if !ok {
			continue
		}
		if v.Kind() != '"' {
			return wire.NewInvalidRequest("the option %s must be a string, not %.40s", name, v)
		}
		fields[wireName] = v
	}
	if len(fields) > 0 {
		o.extra["reasoning"] = wire.MarshalOr(fields, nil)
	}
	// include: the caller's list, then what cairn needs itself.
	var include []string
	if v, ok := from["include"]; ok && json.Unmarshal(v, &include) != nil {
		return wire.NewInvalidRequest("the option include must be a list of strings, not %.40s", v)
	}
	also := hostedIncludes(tools)
	// Without a stored response the reasoning must be sent back, which needs its encrypted form.
	if (d.Reasoning || len(fields) > 0) && !o.store {
		also = append(also, encryptedReasoning)
	}
	for _, name := range also {
		if !slices.Contains(include, name) {
			include = append(include, name)
		}
	}
	if len(include) > 0 {
		o.extra["include"] = wire.MarshalOr(include, nil)
	}
	return nil
}

// hostedIncludes returns the values of include that add the results of hosted tools to their items.
func hostedIncludes(tools []llm.ToolDefinition) (out []string) {
	for _, def := range tools {
		fields, _ := wire.ReadObject(def.Hosted)
		switch wire.DecodeString(fields["type"]) {
		case "code_interpreter":
			out = append(out, "code_interpreter_call.outputs")
		case "web_search":
			out = append(out, "web_search_call.action.sources")
		case "file_search":
			out = append(out, "file_search_call.results")
		}
	}
	return out
}
