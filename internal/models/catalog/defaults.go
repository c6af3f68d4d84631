package catalog

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// defaultOptions returns the request options of a model unless its source, the configuration, the agent or a variant
// sets them. They are in the spelling that Partition sorts.
func (m Model) defaultOptions() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	id := strings.ToLower(m.API.ID)
	m.addSampling(id, out)
	switch m.API.Package {
	case "@ai-sdk/openai", "@ai-sdk/azure":
		out["store"] = jsontext.Value("false")
	case "@openrouter/ai-sdk-provider":
		out["usage"] = jsontext.Value(`{"include":true}`)
		if strings.Contains(id, "gemini-3") {
			out["reasoning"] = jsontext.Value(`{"effort":"high"}`)
		}
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		if m.Reasoning && strings.Contains(id, "gemini-3") {
			out["thinkingConfig"] = jsontext.Value(`{"includeThoughts":true,"thinkingLevel":"high"}`)
		} else if m.Reasoning {
			out["thinkingConfig"] = jsontext.Value(`{"includeThoughts":true}`)
		}
	}
	m.addThinking(id, out)
	if strings.Contains(id, "gpt-5") && !strings.Contains(id, "gpt-5-chat") {
		m.addGPT5(id, out)
	}
	return out
}

// addThinking enables the reasoning of models that reason only on request, each by the option of its vendor.
func (m Model) addThinking(id string, out map[string]jsontext.Value) {
	chat, messages := m.API.Package == defaultPackage, isAnthropicPackage(m.API.Package)
	switch {
	case m.ProviderID == "baseten" && m.Reasoning,
		m.ProviderID == "opencode" && (strings.Contains(id, "kimi-k2-thinking") || strings.Contains(id, "glm-4.6")):
		out["chat_template_args"] = jsontext.Value(`{"enable_thinking":true}`)
	case chat && (strings.HasPrefix(m.ProviderID, "zai") || strings.HasPrefix(m.ProviderID, "zhipuai")):
		out["thinking"] = jsontext.Value(`{"type":"enabled","clear_thinking":false}`)
	case chat && m.ProviderID == "alibaba-cn" && m.Reasoning && !strings.Contains(id, "kimi-k2-thinking"):
		out["enable_thinking"] = jsontext.Value("true")
	case messages && strings.Contains(id, "minimax-m3"):
		out["thinking"] = jsontext.Value(`{"type":"adaptive"}`)
	case messages && (strings.Contains(id, "k2p") || strings.Contains(id, "kimi-k2.") ||
		strings.Contains(id, "kimi-k2p")):
		high, _ := clampBudgets(0, m.Limit.Output)
		out["thinking"] = m.budgetOptions(high)["thinking"]
	}
}

func isAnthropicPackage(pkg string) bool {
	return pkg == "@ai-sdk/anthropic" || pkg == "@ai-sdk/google-vertex/anthropic"
}

// addGPT5 adds the defaults of OpenAI's family 5, which reasons before it answers.
func (m Model) addGPT5(id string, out map[string]jsontext.Value) {
	azure := m.API.Package == "@ai-sdk/azure"
	native := azure || m.API.Package == "@ai-sdk/openai" || m.ProviderID == "github-copilot"
	if azure && strings.Contains(id, "gpt-5.5") {
		out["reasoningSummary"] = jsontext.Value(`"auto"`)
		return
	}
	if !strings.Contains(id, "-pro") {
		out["reasoningEffort"] = jsontext.Value(`"medium"`)
	}
	if native {
		out["reasoningSummary"] = jsontext.Value(`"auto"`)
	}
	if m.API.Package == "@ai-sdk/openai" {
		out["include"] = jsontext.Value(`["reasoning.encrypted_content"]`)
	}
	if native && !azure && strings.Contains(id, "gpt-5.") && !strings.Contains(id, "codex") &&
		!strings.Contains(id, "-chat") {
		out["textVerbosity"] = jsontext.Value(`"low"`)
	}
}

// samplingDefaults are the settings that the makers of models recommend. For each option, the first matching row
// counts.
var samplingDefaults = []struct{ family, option, value string }{
	{"qwen", "temperature", "0.55"},
	{"claude", "temperature", ""},
	{"gemini", "temperature", "1"},
	{"glm-4.6", "temperature", "1"},
	{"glm-4.7", "temperature", "1"},
	{"minimax-m2", "temperature", "1"},
	{"kimi-k2-thinking", "temperature", "1"},
	{"kimi-k2.", "temperature", "1"},
	{"kimi-k2p", "temperature", "1"},
	{"kimi-k2-5", "temperature", "1"},
	{"kimi-k2", "temperature", "0.6"},
	{"qwen", "topP", "1"},
	{"minimax-m2", "topP", "0.95"},
	{"gemini", "topP", "0.95"},
	{"kimi-k2.5", "topP", "0.95"},
	{"kimi-k2p5", "topP", "0.95"},
	{"kimi-k2-5", "topP", "0.95"},
	{"minimax-m2.", "topK", "40"},
	{"minimax-m25", "topK", "40"},
	{"minimax-m21", "topK", "40"},
	{"minimax-m2", "topK", "20"},
	{"gemini", "topK", "64"},
}

func (m Model) addSampling(id string, out map[string]jsontext.Value) {
	decided := map[string]bool{"temperature": !m.Temperature}
	for _, s := range samplingDefaults {
		if decided[s.option] || !strings.Contains(id, s.family) {
			continue
		}
		decided[s.option] = true
		if s.value != "" {
			out[s.option] = jsontext.Value(s.value)
		}
	}
}
