package catalog

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// familyPresets returns the presets of a reasoning model whose source lists none, by the family that its name tells.
func (m Model) familyPresets() map[string]map[string]jsontext.Value {
	id := strings.ToLower(m.API.ID)
	if !m.Reasoning || hasNoPresets(id) || m.ProviderID == "cohere" || m.ProviderID == "perplexity" {
		return nil
	}
	switch {
	case strings.Contains(id, "minimax-m3"):
		return map[string]map[string]jsontext.Value{
			"none":     {"thinking": jsontext.Value(`{"type":"disabled"}`)},
			"thinking": {"thinking": jsontext.Value(`{"type":"adaptive"}`)},
		}
	case thinksByBudget(m.API.Package, id):
		return m.budgetPresets(m.thinkingBudgets(id))
	default:
		return m.effortPresets(m.familyEfforts(id)...)
	}
}

// hasNoPresets reports whether a family always reasons in the same way.
func hasNoPresets(id string) bool {
	for _, name := range []string{
		"deepseek-chat", "deepseek-reasoner", "deepseek-r1", "deepseek-v3", "kimi", "k2p",
		"qwen", "big-pickle",
	} {
		if strings.Contains(id, name) {
			return true
		}
	}
	return strings.Contains(id, "minimax") && !strings.Contains(id, "minimax-m3") ||
		strings.Contains(id, "glm") && !strings.Contains(id, "glm-5.2")
}

func (m Model) effortPresets(levels ...string) map[string]map[string]jsontext.Value {
	out := map[string]map[string]jsontext.Value{}
	for _, level := range levels {
		out[level] = m.effortOptions(level, jsontext.Value(strconv.Quote(level)))
	}
	return out
}

func (m Model) budgetPresets(high, highest int64) map[string]map[string]jsontext.Value {
	out := map[string]map[string]jsontext.Value{}
	for id, tokens := range map[string]int64{"high": high, "max": highest} {
		if body := m.budgetOptions(tokens); body != nil && tokens > 0 {
			out[id] = body
		}
	}
	return out
}

// thinksByBudget reports whether a model takes a token budget for reasoning instead of an effort.
func thinksByBudget(pkg, id string) bool {
	switch pkg {
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		return len(claudeEfforts(id)) == 0
	case "@ai-sdk/amazon-bedrock":
		return strings.Contains(id, "claude") && len(claudeEfforts(id)) == 0
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return strings.Contains(id, "2.5")
	default:
		return false
	}
}

// thinkingBudgets returns the token budgets of the presets high and max. The thoughts of Gemini do not count as its
// answer.
func (m Model) thinkingBudgets(id string) (high, highest int64) {
	switch {
	case m.API.Package != "@ai-sdk/google" && m.API.Package != "@ai-sdk/google-vertex":
		return clampBudgets(0, m.Limit.Output)
	case strings.Contains(id, "pro"):
		return highBudget, 32_768
	default:
		return highBudget, 24_576
	}
}

var (
	three = []string{"low", "medium", "high"}
	claud = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`(opus|sonnet|fable)-(\d)(?:[-.](\d)(?:\D|$))?`) },
	)
	gpt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`gpt-5(?:\.(\d+))?`) })
)

// claudeEfforts returns the efforts of Anthropic's models that take one.
func claudeEfforts(id string) []string {
	parts := claud().FindStringSubmatch(id)
	if parts == nil {
		return nil
	}
	major, _ := strconv.Atoi(parts[2])
	minor, _ := strconv.Atoi(parts[3])
	version := 10*major + minor
	switch {
	case version >= 50, parts[1] == "opus" && version >= 47:
		return []string{"low", "medium", "high", "xhigh", "max"}
	case version == 46:
		return []string{"low", "medium", "high", "max"}
	case parts[1] == "opus" && version == 45:
		return three
	default:
		return nil
	}
}

// familyEfforts returns the reasoning efforts that a model takes; none if it takes none.
// The catalog has no list for these models, so this table follows what the vendors document.
func (m Model) familyEfforts(id string) []string {
	// Models and resellers with efforts of their own.
	switch {
	case strings.Contains(id, "glm-5.2") && m.ProviderID == "openrouter":
		return []string{"high", "xhigh"}
	case strings.Contains(id, "glm-5.2"):
		return []string{"high", "max"}
	case strings.Contains(id, "grok-3-mini"):
		return []string{"low", "high"}
	case m.ProviderID == "github-copilot" && strings.Contains(id, "gemini"):
		return nil
	case m.ProviderID == "github-copilot" && strings.Contains(id, "claude"):
		return three
	}
	// Otherwise the protocol decides, with the id for vendors whose models differ.
	switch m.API.Package {
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		return claudeEfforts(id)
	case "@ai-sdk/amazon-bedrock":
		if efforts := claudeEfforts(id); len(efforts) > 0 {
			return efforts
		}
		return three
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return geminiEfforts(id)
	case "@ai-sdk/openai", "@ai-sdk/azure", "@ai-sdk/github-copilot":
		return gptEfforts(id, m.Time.Released)
	case "@ai-sdk/mistral":
		for _, name := range []string{"small-2603", "small-latest", "medium-3.5", "medium-2604"} {
			if strings.Contains(id, name) {
				return []string{"high"}
			}
		}
		return nil
	case "@ai-sdk/groq":
		return []string{"none", "low", "medium", "high"}
	}
	// Other servers: most accept three.
	if strings.Contains(id, "deepseek-v4") {
		return []string{"low", "medium", "high", "max"}
	}
	return three
}

func geminiEfforts(id string) []string {
	switch {
	case !strings.Contains(id, "gemini-3"):
		return []string{"low", "high"}
	case strings.Contains(id, "flash-image"):
		return []string{"minimal", "high"}
	case strings.Contains(id, "pro-image"):
		return []string{"high"}
	case strings.Contains(id, "flash"):
		return []string{"minimal", "low", "medium", "high"}
	default:
		return three
	}
}

// When OpenAI's models got the efforts none and xhigh.
var (
	noneSince  = time.Date(2025, 11, 13, 0, 0, 0, 0, time.UTC).UnixMilli()
	xhighSince = time.Date(2025, 12, 4, 0, 0, 0, 0, time.UTC).UnixMilli()
)

func gptEfforts(id string, released int64) []string {
	parts := gpt().FindStringSubmatch(id)
	five, minor := parts != nil, 0
	if five {
		minor, _ = strconv.Atoi(parts[1])
	}
	has := func(word string) bool { return strings.Contains(id, word) }
	switch {
	case has("deep-research"), five && minor > 0 && has("-chat"):
		return []string{"medium"}
	case five && has("-chat"):
		return nil
	case five && has("-pro") && minor == 0:
		return []string{"high"}
	case five && has("-pro"):
		return []string{"medium", "high", "xhigh"}
	case has("codex"):
		return standardEfforts(five && minor >= 3, minor >= 2 || has("-max"))
	case five && minor > 0:
		return standardEfforts(true, minor >= 2)
	case five:
		return []string{"minimal", "low", "medium", "high"}
	default:
		return standardEfforts(released >= noneSince, released >= xhighSince)
	}
}

// standardEfforts returns low, medium and high, with the efforts below and above them that exist.
func standardEfforts(none, xhigh bool) []string {
	var out []string
	if none {
		out = append(out, "none")
	}
	out = append(out, three...)
	if xhigh {
		out = append(out, "xhigh")
	}
	return out
}
