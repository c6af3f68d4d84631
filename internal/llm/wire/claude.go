package wire

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ParseClaudeName returns the family and the version (45 for 4.5) in a Claude model's name in any vendor's spelling;
// zero values for other models.
func ParseClaudeName(model string) (family string, version int) {
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

// ThinkingMode is the form of the request for a Claude model's reasoning.
type ThinkingMode int

// The thinking modes.
const (
	ThinkingOff           ThinkingMode = iota // the effort is not sent
	ThinkingBudget                            // a number of tokens
	ThinkingEffort                            // an effort; the reasoning is not readable
	ThinkingAdaptive                          // an effort; the model decides how much to reason
	ThinkingAdaptiveXHigh                     // also the effort xhigh; such models refuse sampling controls
)

// ThinkingModeOf returns the mode of a reasoning model by its name.
func ThinkingModeOf(model string) ThinkingMode {
	family, version := ParseClaudeName(model)
	switch {
	case family == "opus" && version >= 47, family == "sonnet" && version >= 50, family == "fable":
		return ThinkingAdaptiveXHigh
	case version == 46:
		return ThinkingAdaptive
	case family == "opus" && version == 45:
		return ThinkingEffort
	default:
		return ThinkingBudget
	}
}

// ThinkingConfig is the thinking field of a request to a Claude model.
type ThinkingConfig struct {
	Type         string `json:"type"`
	Budget       int    `json:"budget_tokens,omitzero"`
	Display      string `json:"display,omitempty"`
	halfOfOutput bool   // the budget is limited to half of the output
}

// Configure converts a neutral effort to a thinking field, an effort of the model, or both. Neither means no reasoning.
func (k ThinkingMode) Configure(effort string) (*ThinkingConfig, string, error) {
	if effort == "none" || k == ThinkingOff {
		return nil, "", nil
	}
	budget, exists := budgets[effort]
	if !exists {
		return nil, "", NewInvalidRequest(
			"the option reasoningEffort must be one of none, minimal, low, medium, high, xhigh and max, not %.40q", effort,
		)
	}
	adaptive := &ThinkingConfig{Type: "adaptive", Display: "summarized"}
	switch k {
	case ThinkingBudget:
		return &ThinkingConfig{Type: "enabled", Budget: budget, halfOfOutput: budget < maxBudget}, "", nil
	case ThinkingEffort:
		return nil, nearestEffort(effort, "low", "medium", "high"), nil
	case ThinkingAdaptiveXHigh:
		return adaptive, nearestEffort(effort, "low", "medium", "high", "xhigh", "max"), nil
	default:
		return adaptive, nearestEffort(effort, "low", "medium", "high", "max"), nil
	}
}

// nearestEffort returns effort if the model supports it, else the next lower level that it supports.
func nearestEffort(effort string, supported ...string) string {
	best := supported[0]
	for _, level := range supported {
		if budgets[level] <= budgets[effort] {
			best = level
		}
	}
	if slices.Contains(supported, effort) {
		return effort
	}
	return best
}

// budgets are the reasoning tokens of each effort.
var budgets = map[string]int{
	"minimal": minBudget, "low": 4000, "medium": 8000, "high": 16000, "xhigh": maxBudget - 1, "max": maxBudget,
}

const (
	minBudget = 1024
	maxBudget = 31999
)

// IsEnabled reports whether the model reasons.
func (t *ThinkingConfig) IsEnabled() bool { return t != nil && t.Type != "disabled" }

// FitTokens returns the configuration for an answer of at most maxTokens tokens, which include the reasoning. It
// returns nil if they are too few to reason.
func (t *ThinkingConfig) FitTokens(maxTokens int) *ThinkingConfig {
	if t == nil || t.Type != "enabled" {
		return t
	}
	limit := maxTokens - 1
	if t.halfOfOutput || t.Budget == 0 {
		limit = maxTokens/2 - 1
	}
	fits := *t
	fits.Budget = min(cmp.Or(t.Budget, budgets["high"]), limit)
	if fits.Budget < minBudget {
		return nil
	}
	return &fits
}
