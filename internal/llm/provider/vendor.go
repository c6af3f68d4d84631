package provider

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// Vendor is one row of the table: whom we talk to, where, and in which dialect.
type Vendor struct {
	ID       string
	Name     string
	BaseURL  string
	KeyEnv   []string // environment variables that may hold the key, first wins
	NeedsKey bool
	Dialect  openaichat.Dialect
}

// Vendors returns the vendors that are known by name, sorted by id. The ids are those of models.dev.
func Vendors() []Vendor {
	return []Vendor{
		hosted("baseten", "Baseten", "https://inference.baseten.co/v1", "BASETEN_API_KEY", openaichat.Dialect{}),
		hosted("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", openaichat.Dialect{ReasoningField: "reasoning"}),
		hosted("deepinfra", "Deep Infra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY", openaichat.Dialect{TopK: true}),
		hosted("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", openaichat.Dialect{}),
		hosted("fireworks-ai", "Fireworks AI", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", openaichat.Dialect{TopK: true}),
		hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", openaichat.Dialect{ReasoningField: "reasoning"}),
		local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
		hosted("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", openaichat.Dialect{
			ReasoningField: openaichat.NoReasoning, Effort: openaichat.EffortNone, CallIDs: openaichat.NineIDs,
			BridgeToolUser: true, NoStreamOptions: true, SeedField: "random_seed",
		}),
		hosted("moonshotai", "Moonshot AI", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", openaichat.Dialect{Schema: openaichat.SchemaMoonshot}),
		local("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
		hosted("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", openaichat.Dialect{
			Namespace: "openai", ReasoningField: openaichat.NoReasoning, CacheKey: true,
		}),
		hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", openaichat.Dialect{
			Namespace: "openrouter", ReasoningField: "reasoning", Effort: openaichat.EffortObject, CacheKey: true, TopK: true, Router: true,
		}),
		hosted("togetherai", "Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY", openaichat.Dialect{ReasoningField: "reasoning", TopK: true}),
		hosted("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", openaichat.Dialect{ReasoningField: openaichat.NoReasoning}),
	}
}

// Find returns the row of a vendor by its id, or by the short names together and fireworks.
func Find(id string) (Vendor, bool) {
	switch id {
	case "together":
		id = "togetherai"
	case "fireworks":
		id = "fireworks-ai"
	}
	for _, v := range Vendors() {
		if v.ID == id {
			return v, true
		}
	}
	return Vendor{}, false
}

// Compatible returns a row for any server that speaks OpenAI Chat at baseURL.
func Compatible(id, name, baseURL string) Vendor {
	return Vendor{ID: id, Name: name, BaseURL: baseURL, Dialect: openaichat.Dialect{TopK: true}}
}

func hosted(id, name, baseURL, env string, d openaichat.Dialect) Vendor {
	return Vendor{ID: id, Name: name, BaseURL: baseURL, KeyEnv: []string{env}, NeedsKey: true, Dialect: d}
}

func local(id, name, baseURL string) Vendor {
	return Vendor{ID: id, Name: name, BaseURL: baseURL, Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}}
}

// dialect is the vendor's dialect with what the model changes about it (spec/v1 §30.1, spec/v2 §27 X35).
func dialect(v Vendor, f Facts) openaichat.Dialect {
	d := v.Dialect
	id := strings.ToLower(f.ModelID)
	if f.Reasoning && v.ID == "openai" {
		d.MaxTokensField = "max_completion_tokens"
	}
	if strings.Contains(id, "claude") && d.CallIDs == openaichat.AnyID {
		d.CallIDs = openaichat.WordID
	}
	if strings.Contains(id, "kimi") || strings.Contains(id, "moonshot") {
		d.Schema = openaichat.SchemaMoonshot
	}
	if f.ReasoningField != "" && !d.Router {
		d.ReasoningField, d.ForceReasoning = f.ReasoningField, true
	}
	if v.ID == "deepseek" && f.Reasoning {
		d.ForceReasoning = true
	}
	return d
}
