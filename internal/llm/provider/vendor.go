package provider

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// Vendor is one row of the table: whom we talk to, where, and in which dialect.
type Vendor struct {
	ID      string
	Name    string
	BaseURL string
	// KeyEnv are the environment variables that may hold the key, first wins. A vendor that has some needs a key
	// at its own address.
	KeyEnv []string
	// Wire is the protocol, unless the model's own package says another.
	Wire Wire
	// KeyHeader is where a key goes, if not where the wire has it.
	KeyHeader string
	// Headers go with every request, before those of the configuration.
	Headers map[string]string
	// Dialect is what the vendor's Chat endpoint expects.
	Dialect openaichat.Dialect
}

// Vendors returns the vendors that are known by name, sorted by id. The ids are those of models.dev.
func Vendors() []Vendor {
	return []Vendor{
		{ID: "baseten", Name: "Baseten", BaseURL: "https://inference.baseten.co/v1", KeyEnv: []string{"BASETEN_API_KEY"}},
		{ID: "cerebras", Name: "Cerebras", BaseURL: "https://api.cerebras.ai/v1", KeyEnv: []string{"CEREBRAS_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"}},
		{ID: "deepinfra", Name: "Deep Infra", BaseURL: "https://api.deepinfra.com/v1/openai", KeyEnv: []string{"DEEPINFRA_API_KEY"}, Dialect: openaichat.Dialect{TopK: true}},
		{ID: "deepseek", Name: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"}},
		{ID: "fireworks-ai", Name: "Fireworks AI", BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"}, Dialect: openaichat.Dialect{TopK: true}},
		{ID: "groq", Name: "Groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"}},
		{ID: "lmstudio", Name: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "mistral", Name: "Mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"}, Dialect: openaichat.Dialect{
			ReasoningField: openaichat.NoReasoning, CallIDs: openaichat.NineIDs,
			BridgeToolUser: true, NoStreamOptions: true, SeedField: "random_seed",
		}},
		{ID: "moonshotai", Name: "Moonshot AI", BaseURL: "https://api.moonshot.ai/v1", KeyEnv: []string{"MOONSHOT_API_KEY"}, Dialect: openaichat.Dialect{Schema: openaichat.SchemaMoonshot}},
		{ID: "ollama", Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "openai", Name: "OpenAI", BaseURL: "https://api.openai.com/v1", KeyEnv: []string{"OPENAI_API_KEY"}, Dialect: openaichat.Dialect{
			Namespace: "openai", ReasoningField: openaichat.NoReasoning, CacheKey: true,
		}},
		{ID: "openrouter", Name: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"}, Dialect: openaichat.Dialect{
			Namespace: "openrouter", ReasoningField: "reasoning", Effort: openaichat.EffortObject, CacheKey: true, TopK: true, Router: true,
		}},
		{ID: "togetherai", Name: "Together AI", BaseURL: "https://api.together.xyz/v1", KeyEnv: []string{"TOGETHER_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "xai", Name: "xAI", BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: openaichat.NoReasoning}},
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
