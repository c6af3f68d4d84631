package anthropic

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// options are a request's semantic options in this protocol's words.
type options struct {
	thinking     *thinking
	noParallel   bool
	noReasoning  bool // earlier thoughts are not sent back
	cachesItself bool // the configuration says where to cache
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

// options reads the request's options. Those that this protocol has no word for are other protocols' and are left out.
func (d Dialect) options(req *llm.Request) (options, error) {
	o := options{extra: map[string]jsontext.Value{}}
	for name, word := range plainOptions {
		if v, ok := req.Options[name]; ok {
			o.extra[word] = v
		}
	}
	o.cachesItself = o.extra["cache_control"] != nil
	o.noParallel = string(req.Options["disableParallelToolUse"]) == "true" || string(req.Options["parallelToolCalls"]) == "false"
	o.noReasoning = string(req.Options["sendReasoning"]) == "false"
	if err := d.reason(&o, req); err != nil {
		return o, err
	}
	if v, ok := req.Options["effort"]; ok {
		o.effort(wire.Plain(v))
	}
	if v, ok := req.Options["thinking"]; ok {
		o.thinking = &thinking{}
		if err := json.Unmarshal(v, o.thinking, json.MatchCaseInsensitiveNames(true)); err != nil {
			return o, wire.Invalid("the option thinking must be an object such as {\"type\": \"enabled\", \"budgetTokens\": 8000}, not %.80s", v)
		}
	}
	return o, nil
}

func (o *options) effort(level string) {
	if level != "" {
		o.extra["output_config"] = jsontext.Value(`{"effort":` + string(wire.Quote(level)) + `}`)
	}
}

// reason writes the neutral reasoningEffort in the model's own way (spec/v1 §30.6).
func (d Dialect) reason(o *options, req *llm.Request) error {
	v := req.Options["reasoningEffort"]
	if len(v) == 0 || d.Thinks == ThinksNot {
		return nil
	}
	var level string
	if err := json.Unmarshal(v, &level); err != nil {
		return wire.Invalid("the option reasoningEffort must be a string such as \"high\", not %.40s", v)
	}
	if level == "none" {
		return nil
	}
	switch d.Thinks {
	case ThinksBudget:
		budget, known := budgets[level]
		if !known {
			return wire.Invalid("the option reasoningEffort must be one of none, minimal, low, medium, high, xhigh and max, not %.40q", level)
		}
		o.thinking = &thinking{Type: "enabled", Budget: budget}
		if level == "max" || level == "xhigh" {
			return nil
		}
		o.thinking.share = true
	case ThinksByEffort:
		o.effort(known(level, "low", "medium", "high"))
	default:
		o.thinking = &thinking{Type: "adaptive", Display: "summarized"}
		levels := []string{"low", "medium", "high", "max"}
		if d.Thinks == ThinksAdaptiveX {
			levels = []string{"low", "medium", "high", "xhigh", "max"}
		}
		o.effort(known(level, levels...))
	}
	return nil
}

// known returns level if the model knows it, else the nearest that it does.
func known(level string, levels ...string) string {
	order := map[string]int{"minimal": 0, "low": 1, "medium": 2, "high": 3, "xhigh": 4, "max": 5}
	best := levels[0]
	for _, l := range levels {
		if order[l] <= order[level] {
			best = l
		}
	}
	return best
}

// budgets are the tokens of thought by effort.
var budgets = map[string]int{
	"minimal": minBudget, "low": 4000, "medium": 8000, "high": 16000, "xhigh": maxBudget, "max": maxBudget,
}

const (
	minBudget = 1024
	maxBudget = 31999
)

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitempty"`
	share   bool   // half of the output at most
}

func (t *thinking) on() bool { return t != nil && t.Type != "disabled" }

// within returns the thinking of an answer of so many tokens: the budget is part of them. Too few are no thinking.
func (t *thinking) within(maxTokens int) *thinking {
	if t == nil || t.Type != "enabled" {
		return t
	}
	limit := maxTokens - 1
	if t.share || t.Budget == 0 {
		limit = maxTokens/2 - 1
	}
	fits := *t
	fits.Budget = min(cmp.Or(t.Budget, budgets["high"]), limit)
	if fits.Budget < minBudget {
		return nil
	}
	return &fits
}

// maxMarks is how many marks the protocol takes. The system's come first, then the latest of the conversation.
const maxMarks = 4

func (o *options) systemMarks(req *llm.Request) int {
	if o.cachesItself {
		return 0
	}
	return min(req.Cache.System, maxMarks, len(req.System))
}

func (o *options) messageMarks(req *llm.Request) []int {
	if o.cachesItself {
		return nil
	}
	left := maxMarks - o.systemMarks(req)
	return req.Cache.Messages[max(0, len(req.Cache.Messages)-left):]
}
