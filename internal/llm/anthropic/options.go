package anthropic

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// options are the request's options in the protocol's form.
type options struct {
	thinking     *wire.ThinkingConfig
	noParallel   bool
	noReasoning  bool // earlier reasoning is not sent back
	cachesItself bool // the configuration sets the cache breakpoints
	ttl          string
	extra        map[string]jsontext.Value
}

// plainOptions are the options that are sent under another name and otherwise unchanged.
var plainOptions = map[string]string{
	"cacheControl":      "cache_control",
	"container":         "container",
	"contextManagement": "context_management",
	"inferenceGeo":      "inference_geo",
	"mcpServers":        "mcp_servers",
	"metadata":          "metadata",
	"serviceTier":       "service_tier",
	"speed":             "speed",
}

// parseOptions reads the request's options. It ignores options of other protocols.
func (d Dialect) parseOptions(req *llm.Request) (options, error) {
	// Options whose values are passed on as they are, under their names on the wire.
	o := options{extra: map[string]jsontext.Value{}}
	for name, word := range plainOptions {
		if v, ok := req.Options[name]; ok {
			o.extra[word] = wire.SnakeCaseNames(v)
		}
	}
	if v, ok := req.Options["taskBudget"]; ok {
		o.setOutputConfig("task_budget", v)
	}
	// Switches. A request that sets cache_control itself gets no breakpoints from cairn.
	o.cachesItself = o.extra["cache_control"] != nil
	o.noParallel = string(req.Options["disableParallelToolUse"]) == "true" ||
		string(req.Options["parallelToolCalls"]) == "false"
	o.noReasoning = string(req.Options["sendReasoning"]) == "false"
	var err error
	// Options that are checked: the life time of the cache, the effort, and thinking, which overrides the effort's.
	if o.ttl, err = wire.ParseCacheTTL(req); err != nil {
		return o, err
	}
	if err := d.parseEffort(&o, req); err != nil {
		return o, err
	}
	if v, ok := req.Options["effort"]; ok {
		o.setEffort(wire.DecodeString(v))
	}
	if v, ok := req.Options["thinking"]; ok {
		o.thinking = &wire.ThinkingConfig{}
		if err := json.Unmarshal(v, o.thinking, json.MatchCaseInsensitiveNames(true)); err != nil {
			return o, wire.NewInvalidRequest(
				"the option thinking must be an object such as {\"type\": \"enabled\", \"budgetTokens\": 8000}, not %.80s", v,
			)
		}
	}
	return o, nil
}

func (o *options) setEffort(level string) {
	if level != "" {
		o.setOutputConfig("effort", wire.Quote(level))
	}
}

// setOutputConfig sets a field of output_config.
func (o *options) setOutputConfig(name string, v jsontext.Value) {
	config, _ := wire.ReadObject(o.extra["output_config"])
	if config == nil {
		config = wire.Object{}
	}
	config[name] = v
	o.extra["output_config"] = wire.MarshalOr(config, nil)
}

// betaByOption maps options to the beta features that they need.
var betaByOption = map[string]string{
	"contextManagement": "context-management-2025-06-27", "mcpServers": "mcp-client-2025-04-04",
	"taskBudget": "task-budgets-2026-03-13",
}

// parseEffort converts the neutral reasoningEffort to the model's form.
func (d Dialect) parseEffort(o *options, req *llm.Request) error {
	v := req.Options["reasoningEffort"]
	if len(v) == 0 || d.Thinking == wire.ThinkingOff {
		return nil
	}
	var level string
	if err := json.Unmarshal(v, &level); err != nil {
		return wire.NewInvalidRequest("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
	}
	thinking, effort, err := d.Thinking.Configure(level)
	o.thinking = thinking
	o.setEffort(effort)
	return err
}

// placeBreakpoints returns the cache placeBreakpoints that the request sets; none if the configuration sets them
// itself.
func (o *options) placeBreakpoints(req *llm.Request) (system int, messages []int) {
	if o.cachesItself {
		return 0, nil
	}
	return wire.LimitBreakpoints(req)
}
