package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// buildVariants returns the reasoning presets that the source lists, with those of the configuration over them,
// ordered by effort and then by name. It adds dropped options to m.Dropped.
func (s *sourceModel) buildVariants(m *Model) []Variant {
	// Begin with the presets of the source; the variants of the configuration change or remove them.
	byID, headers := s.sourcePresets(*m), map[string]map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(s.Variants)) {
		v := s.Variants[id]
		var own map[string]jsontext.Value
		if json.Unmarshal(v, &own, lenientJSON) != nil {
			continue
		}
		// A variant can be disabled. The switch itself and the headers are no options of the request.
		if string(own["disabled"]) == "true" {
			delete(byID, id)
			continue
		}
		delete(own, "disabled")
		var carries map[string]string
		if json.Unmarshal(own["headers"], &carries, lenientJSON) == nil {
			headers[id] = carries
		}
		delete(own, "headers")
		// Merge its options over the preset's, and report those that no request may have.
		var dropped []string
		byID[id], dropped = mergeLayers(m.optionVendor(), byID[id], own)
		for _, why := range dropped {
			m.Dropped = append(m.Dropped, "variant "+id+": "+why)
		}
	}
	// Return them in an order that lists can show.
	out := make([]Variant, 0, len(byID))
	for _, id := range slices.SortedFunc(maps.Keys(byID), compareEfforts) {
		out = append(out, Variant{ID: id, Headers: mergeMaps(nil, headers[id]), Body: byID[id]})
	}
	return out
}

// sourcePresets returns the options of each variant that the source lists, by name; those of the model's family if it
// lists none.
func (s *sourceModel) sourcePresets(m Model) map[string]map[string]jsontext.Value {
	byID := map[string]map[string]jsontext.Value{}
	// The source lists none: use those of the model's family.
	if len(s.ReasoningOptions) == 0 {
		return mergeMaps(byID, m.familyPresets())
	}
	for _, o := range s.ReasoningOptions {
		// Each kind of option gives variants in its own way.
		switch o.Type {
		case "toggle":
			// On or off. Only Alibaba's compatible API has a field for it that is known.
			if strings.HasPrefix(m.ProviderID, "alibaba") && m.API.Package == defaultPackage {
				byID["none"] = map[string]jsontext.Value{"enable_thinking": jsontext.Value("false")}
				byID["high"] = map[string]jsontext.Value{"enable_thinking": jsontext.Value("true")}
			}
		case "effort":
			// One variant for each level.
			for _, v := range o.Values {
				var level string
				if json.Unmarshal(v, &level) == nil && level != "" {
					byID[level] = m.effortOptions(level, v)
				}
			}
		case "budget_tokens":
			// A budget of tokens: a high one and the greatest. A variant by effort of the same name stays.
			high, most := clampBudgets(o.Max, m.Limit.Output)
			for id, tokens := range map[string]int64{"high": high, "max": most} {
				if body := m.budgetOptions(tokens); body != nil && byID[id] == nil {
					byID[id] = body
				}
			}
		}
	}
	return byID
}

// listEfforts returns the reasoning efforts that a source lists.
func (s *sourceModel) listEfforts() []string {
	var out []string
	for _, o := range s.ReasoningOptions {
		for _, v := range o.Values {
			var level string
			if o.Type == "effort" && json.Unmarshal(v, &level) == nil {
				out = append(out, level)
			}
		}
	}
	return out
}

// effortOptions returns the options for a reasoning effort, for the package by which the model is reached.
func (m Model) effortOptions(level string, v jsontext.Value) map[string]jsontext.Value {
	switch m.API.Package {
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		if strings.Contains(m.API.ID, "opus-4-5") || level == "none" {
			return map[string]jsontext.Value{"effort": v}
		}
		return map[string]jsontext.Value{
			"effort":   v,
			"thinking": jsontext.Value(`{"type":"adaptive","display":"summarized"}`),
		}
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return map[string]jsontext.Value{
			"thinkingConfig": jsontext.Value(`{"includeThoughts":true,"thinkingLevel":` + string(v) + `}`),
		}
	case "@ai-sdk/amazon-bedrock":
		kind := "enabled"
		if strings.Contains(m.API.ID, "anthropic.") {
			kind = "adaptive"
		}
		return map[string]jsontext.Value{
			"reasoningConfig": jsontext.Value(`{"type":"` + kind + `","maxReasoningEffort":` + string(v) + `}`),
		}
	default:
		return map[string]jsontext.Value{"reasoningEffort": v}
	}
}

// The token budget of reasoning: the default, and the maximum.
const (
	highBudget = 16_000
	maxBudget  = 31_999
)

// clampBudgets returns the token budgets of the presets high and max, for a model that answers with at most output
// tokens.
func clampBudgets(most, output int64) (high, highest int64) {
	if output <= 0 {
		output = maxBudget + 1
	}
	high, highest = min(highBudget, output/2-1), min(maxBudget, output-1)
	if most > 0 {
		highest = min(most, highest)
		high = min(most/2, highest)
	}
	return high, highest
}

// budgetOptions returns the options for a token budget of reasoning; nil if the protocol has none.
func (m Model) budgetOptions(tokens int64) map[string]jsontext.Value {
	n := strconv.FormatInt(tokens, 10)
	switch m.API.Package {
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		return map[string]jsontext.Value{"thinking": jsontext.Value(`{"type":"enabled","budgetTokens":` + n + `}`)}
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return map[string]jsontext.Value{
			"thinkingConfig": jsontext.Value(`{"includeThoughts":true,"thinkingBudget":` + n + `}`),
		}
	case "@ai-sdk/amazon-bedrock":
		return map[string]jsontext.Value{
			"reasoningConfig": jsontext.Value(`{"type":"enabled","budgetTokens":` + n + `}`),
		}
	default:
		return nil
	}
}

var effortOrder = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func compareEfforts(a, b string) int {
	i, j := slices.Index(effortOrder, a), slices.Index(effortOrder, b)
	switch {
	case i >= 0 && j >= 0:
		return i - j
	case i != j:
		return j - i // efforts before other names
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Variant returns a variant of the model; false if it has none of that name. "" and "default" always exist, and are
// empty unless the model's request names a variant.
func (m Model) Variant(id string) (Variant, bool) {
	if id == "" || id == "default" {
		id = m.Request.Variant
	}
	switch id {
	case "":
		return Variant{ID: "default"}, true
	case LeastReasoning:
		return m.leastReasoning(), true
	}
	for _, v := range m.Variants {
		if v.ID == id {
			return v, true
		}
	}
	return Variant{}, false
}

// LeastReasoning is a variant that every model has, although it is not listed: no reasoning, or as little as its
// options allow.
const LeastReasoning = "least-reasoning"

// leastReasoning returns the variant LeastReasoning: no options for models that reason only on request.
func (m Model) leastReasoning() Variant {
	out := Variant{ID: LeastReasoning}
	byID := map[string]Variant{}
	for _, v := range m.Variants {
		byID[v.ID] = v
	}
	switch off := m.reasoningOff(); {
	case byID["none"].ID != "":
		out.Body = byID["none"].Body
	case !m.Reasoning:
	case off != nil:
		out.Body = off
	default:
		for _, effort := range []string{"minimal", "low"} {
			if byID[effort].ID != "" {
				out.Body = byID[effort].Body
				break
			}
		}
	}
	return out
}

// reasoningOff returns the options that disable the model's reasoning; nil if it has none that is known to work.
func (m Model) reasoningOff() map[string]jsontext.Value {
	id := strings.ToLower(m.API.ID)
	disabled := jsontext.Value(`{"type":"disabled"}`)
	switch m.API.Package {
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		if strings.Contains(id, "2.5-flash") {
			return map[string]jsontext.Value{"thinkingConfig": jsontext.Value(`{"thinkingBudget":0}`)}
		}
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		if _, on := m.Request.Body["thinking"]; on {
			return map[string]jsontext.Value{"thinking": disabled}
		}
		return map[string]jsontext.Value{}
	case "@openrouter/ai-sdk-provider", "@ai-sdk/gateway":
		if m.CanDisableReasoning {
			return map[string]jsontext.Value{"reasoning": jsontext.Value(`{"enabled":false}`)}
		}
	case defaultPackage:
		makers := []string{"deepseek", "moonshotai", "zai", "zhipuai", "zai-coding-plan"}
		if m.CanDisableReasoning && slices.Contains(makers, m.ProviderID) {
			return map[string]jsontext.Value{"thinking": disabled}
		}
	}
	return nil
}
