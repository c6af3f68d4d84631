package agent

import (
	"embed"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed prompt/family/*.md
var families embed.FS

// Family is the family of models whose habits a prompt heeds, by what the vendor calls the model (spec/v1 §27); "" is none.
func Family(apiID string) string {
	id := strings.ToLower(apiID)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(id, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("gpt-4", "o1", "o3") && !has("claude", "gemini"):
		return "reasoner"
	case has("gpt-oss"):
		return "open"
	case has("gpt") && has("codex"):
		return "codex"
	case has("gpt"):
		return "gpt"
	case has("gemini-"):
		return "gemini"
	case has("claude"):
		return "claude"
	case has("kimi", "trinity", "muse-spark", "qwen", "deepseek", "glm", "minimax", "llama", "mistral", "devstral"):
		return "open"
	default:
		return ""
	}
}

// ForModel is what an agent is told of the model that it is, behind its own prompt: which one, and for the built-in
// agents what models of its family need to hear. Agents that only answer the engine are told nothing.
func ForModel(a session.Agent, ref session.ModelRef, apiID string) string {
	if a.Hidden {
		return ""
	}
	name := "You are the model " + ref.String() + "."
	family := Family(apiID)
	if family == "" || !speaksAsBuilt(a) {
		return name
	}
	habits, err := families.ReadFile("prompt/family/" + family + ".md")
	if err != nil {
		return name
	}
	return text(string(habits)) + "\n\n" + name
}

// speaksAsBuilt reports whether the agent's prompt is ours. Whoever writes one of their own gets it as it is.
func speaksAsBuilt(a session.Agent) bool {
	switch a.System {
	case text(promptBuild), text(promptBuild + promptPlan), text(promptGeneral):
		return true
	default:
		return false
	}
}
