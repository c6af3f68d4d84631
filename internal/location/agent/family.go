package agent

import (
	"embed"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed prompt/family/*.md
var families embed.FS

// FamilyOf returns the model family whose prompt addition applies to a vendor's model id; "" for other models.
func FamilyOf(apiID string) string {
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

// ForModel returns the text about the model that follows an agent's own prompt: its name and, for built-in agents, the
// addition for its family. Internal agents get no such text.
func ForModel(a session.Agent, ref session.ModelRef, apiID string) string {
	if a.Hidden {
		return ""
	}
	name := "You are the model " + ref.String() + "."
	family := FamilyOf(apiID)
	if family == "" || !hasBuiltinPrompt(a) {
		return name
	}
	habits, err := families.ReadFile("prompt/family/" + family + ".md")
	if err != nil {
		return name
	}
	return trimPrompt(string(habits)) + "\n\n" + name
}

// hasBuiltinPrompt reports whether the agent has a built-in prompt. A user's own prompt is sent unchanged.
func hasBuiltinPrompt(a session.Agent) bool {
	switch a.System {
	case trimPrompt(promptBuild), trimPrompt(promptBuild + promptPlan), trimPrompt(promptGeneral):
		return true
	default:
		return false
	}
}
