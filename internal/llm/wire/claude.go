package wire

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Claude finds the family and the version, 45 for 4.5, in a model's name, however a vendor spells it; nothing for one
// that is no Claude.
func Claude(model string) (family string, version int) {
	_, name, ok := strings.Cut(strings.ToLower(model), "claude")
	if !ok {
		return "", 0
	}
	var digits []int
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-.@:_/", r) }) {
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && n < 100 && len(digits) < 2:
			digits = append(digits, n)
		case slices.Contains([]string{"opus", "sonnet", "haiku", "fable", "instant"}, word):
			family = word
		}
	}
	switch len(digits) {
	case 0:
		return family, 0
	case 1:
		return family, digits[0] * 10
	default:
		return family, digits[0]*10 + min(digits[1], 9)
	}
}

// Thinking is a way in which a Claude is asked for thought.
type Thinking int

// The ways to think.
const (
	ThinksNot       Thinking = iota // the effort is not sent
	ThinksBudget                    // a number of tokens
	ThinksByEffort                  // an effort, without thoughts that can be read
	ThinksAdaptive                  // as the model sees fit, by effort
	ThinksAdaptiveX                 // the same, with the effort xhigh; such models take no sampling controls
)

// ThinkingOf returns the way of a model that reasons, by its name (spec/v1 §30.6).
func ThinkingOf(model string) Thinking {
	family, version := Claude(model)
	switch {
	case family == "opus" && version >= 47, family == "sonnet" && version >= 50, family == "fable":
		return ThinksAdaptiveX
	case version == 46:
		return ThinksAdaptive
	case family == "opus" && version == 45:
		return ThinksByEffort
	default:
		return ThinksBudget
	}
}

// Thought is the thinking field of a request to a Claude.
type Thought struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitempty"`
	share   bool   // half of the output at most
}

// At writes the neutral effort: as thinking, as an effort of the model's own, or both. Neither is no thinking.
func (k Thinking) At(effort string) (*Thought, string, error) {
	if effort == "none" || k == ThinksNot {
		return nil, "", nil
	}
	budget, exists := budgets[effort]
	if !exists {
		return nil, "", Invalid("the option reasoningEffort must be one of none, minimal, low, medium, high, xhigh and max, not %.40q", effort)
	}
	adaptive := &Thought{Type: "adaptive", Display: "summarized"}
	switch k {
	case ThinksBudget:
		return &Thought{Type: "enabled", Budget: budget, share: budget < maxBudget}, "", nil
	case ThinksByEffort:
		return nil, nearest(effort, "low", "medium", "high"), nil
	case ThinksAdaptiveX:
		return adaptive, nearest(effort, "low", "medium", "high", "xhigh", "max"), nil
	default:
		return adaptive, nearest(effort, "low", "medium", "high", "max"), nil
	}
}

// nearest returns effort if the model knows it, else the nearest below that it does.
func nearest(effort string, known ...string) string {
	best := known[0]
	for _, level := range known {
		if budgets[level] <= budgets[effort] {
			best = level
		}
	}
	if slices.Contains(known, effort) {
		return effort
	}
	return best
}

// budgets are the tokens of thought by effort.
var budgets = map[string]int{
	"minimal": minBudget, "low": 4000, "medium": 8000, "high": 16000, "xhigh": maxBudget - 1, "max": maxBudget,
}

const (
	minBudget = 1024
	maxBudget = 31999
)

// On reports whether the model thinks.
func (t *Thought) On() bool { return t != nil && t.Type != "disabled" }

// Within returns the thinking of an answer of so many tokens: the budget is part of them. Too few are no thinking.
func (t *Thought) Within(maxTokens int) *Thought {
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
