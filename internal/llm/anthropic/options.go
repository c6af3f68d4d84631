package anthropic

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// options are a request's semantic options in this protocol's words.
type options struct {
	thinking     *wire.ThinkingConfig
	noParallel   bool
	noReasoning  bool // earlier thoughts are not sent back
	cachesItself bool // the configuration says where to cache
	ttl          string
	extra        map[string]jsontext.Value
}

// plainOptions are the semantic options that go out under another name and otherwise as they are.
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

// parseOptions reads the request's options. Those that this protocol has no word for are other protocols' and are left out.
func (d Dialect) parseOptions(req *llm.Request) (options, error) {
	o := options{extra: map[string]jsontext.Value{}}
	for name, word := range plainOptions {
		if v, ok := req.Options[name]; ok {
			o.extra[word] = wire.SnakeCaseNames(v)
		}
	}
	if v, ok := req.Options["taskBudget"]; ok {
		o.setOutputConfig("task_budget", v)
	}
	o.cachesItself = o.extra["cache_control"] != nil
	o.noParallel = string(req.Options["disableParallelToolUse"]) == "true" || string(req.Options["parallelToolCalls"]) == "false"
	o.noReasoning = string(req.Options["sendReasoning"]) == "false"
	var err error
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
			return o, wire.NewInvalidRequest("the option thinking must be an object such as {\"type\": \"enabled\", \"budgetTokens\": 8000}, not %.80s", v)
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

// unsettled are the features that a request must name for an option.
var betaByOption = map[string]string{
	"contextManagement": "context-management-2025-06-27", "mcpServers": "mcp-client-2025-04-04", "taskBudget": "task-budgets-2026-03-13",
}

// parseEffort writes the neutral reasoningEffort in the model's own way.
func (d Dialect) parseEffort(o *options, req *llm.Request) error {
	v := req.Options["reasoningEffort"]
	if len(v) == 0 || d.Thinking == wire.ThinkingOff {
		return nil
	}
	var level string
	if err := json.Unmarshal(v, &level); err != nil {
		return wire.NewInvalidRequest("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
	}
	thought, effort, err := d.Thinking.Configure(level)
	o.thinking = thought
	o.setEffort(effort)
	return err
}

// maxBreakpoints is how many marks the protocol takes. The system's come first, then the latest of the conversation.
const maxBreakpoints = 4

func (o *options) systemBreakpoints(req *llm.Request) int {
	if o.cachesItself {
		return 0
	}
	return min(req.Breakpoints.System, maxBreakpoints, len(req.System))
}

func (o *options) messageBreakpoints(req *llm.Request) []int {
	if o.cachesItself {
		return nil
	}
	left := maxBreakpoints - o.systemBreakpoints(req)
	return req.Breakpoints.Messages[max(0, len(req.Breakpoints.Messages)-left):]
}
