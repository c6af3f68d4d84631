package provider

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// Scheme is how a vendor is convinced of who asks.
type Scheme string

// The schemes. The zero value is a key.
const (
	ByKey     Scheme = ""
	ByAWS     Scheme = "aws"     // requests are signed, or bear Bedrock's own kind of key
	ByGoogle  Scheme = "google"  // tokens of Google Cloud's default credentials
	ByCopilot Scheme = "copilot" // GitHub's token, and short-lived ones that it is exchanged for
)

// Vendor is one row of the table: whom we talk to, where, and in which dialect.
type Vendor struct {
	ID   string
	Name string
	// Row is the id of the row of the table that this is, whatever ID its user has given it; "" for none.
	Row string
	// BaseURL may hold settings as ${name}; Placed fills them in.
	BaseURL  string
	Settings []Setting
	// KeyEnv are the environment variables that may hold the key, first wins. A vendor that has some needs a key
	// at its own address.
	KeyEnv []string
	Scheme Scheme
	// Wire is the protocol, unless the model's own package says another.
	Wire Wire
	// KeyHeader is where a key goes, if not where the wire has it, and KeyPrefix what stands before it there.
	KeyHeader, KeyPrefix string
	// Headers go with every request, before those of the configuration.
	Headers map[string]string
	// Deployments puts the model into the path: deployments/{model}/….
	Deployments bool
	// HostedWire is the protocol of models that are offered tools which the vendor runs itself, if that takes another.
	HostedWire Wire
	// NoCacheKey leaves the key of the conversation out of requests over Responses.
	NoCacheKey bool
	// Dialect is what the vendor's Chat endpoint expects.
	Dialect openaichat.Dialect
	// Forms says how far the vendor's Chat endpoint holds answers to a schema, of models that can be held to one.
	Forms llm.SchemaSupport
}

// Vendors returns the vendors that are known by name, sorted by id. The ids are those of models.dev.
func Vendors() []Vendor {
	rows := slices.Clone(table())
	for i := range rows {
		rows[i] = rows[i].own()
	}
	return rows
}

// table is made once: a start looks many vendors up.
var table = sync.OnceValue(func() []Vendor {
	rows := append(clouds(), compatible()...)
	for i := range rows {
		rows[i].Row = rows[i].ID
	}
	slices.SortFunc(rows, func(a, b Vendor) int { return strings.Compare(a.ID, b.ID) })
	return rows
})

// own returns a row that its user may change.
func (v Vendor) own() Vendor {
	v.Settings, v.KeyEnv, v.Headers = slices.Clone(v.Settings), slices.Clone(v.KeyEnv), maps.Clone(v.Headers)
	return v
}

// account is the setting of everything at Cloudflare.
var account = Setting{Name: "accountId", Env: []string{"CLOUDFLARE_ACCOUNT_ID"}}

// clouds are the vendors with an address, an authentication or a protocol of their own.
func clouds() []Vendor {
	openai := openaichat.Dialect{Namespace: "openai", ReasoningField: openaichat.NoReasoning, CacheKey: true}
	version := Setting{Name: "apiVersion", Env: []string{"AZURE_API_VERSION"}, Default: "v1"}
	vertex := []Setting{
		{Name: "project", Env: []string{"GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"}},
		{Name: "location", Env: []string{"GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION"}, Default: "global"},
	}
	return []Vendor{
		{
			ID: "amazon-bedrock", Name: "Amazon Bedrock", Scheme: ByAWS, Wire: Converse, KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"},
			BaseURL:  "https://bedrock-runtime.${region}.amazonaws.com",
			Settings: []Setting{{Name: "region", Env: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, Default: "us-east-1"}},
		},
		{ID: "anthropic", Name: "Anthropic", BaseURL: "https://api.anthropic.com/v1", Wire: Messages, KeyEnv: []string{"ANTHROPIC_API_KEY"}, Headers: map[string]string{
			"Anthropic-Beta": "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14",
		}},
		{
			ID: "azure", Name: "Azure OpenAI", Forms: llm.SchemaSupported, KeyEnv: []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"}, KeyHeader: "Api-Key", Dialect: openai,
			BaseURL:  "https://${resourceName}.openai.azure.com/openai/v1?api-version=${apiVersion}",
			Settings: []Setting{{Name: "resourceName", Env: []string{"AZURE_RESOURCE_NAME"}}, version},
		},
		{
			ID: "azure-cognitive-services", Name: "Azure AI services", Forms: llm.SchemaSupported, KeyEnv: []string{"AZURE_COGNITIVE_SERVICES_API_KEY"}, KeyHeader: "Api-Key", Dialect: openai,
			BaseURL:  "https://${resourceName}.cognitiveservices.azure.com/openai/v1?api-version=${apiVersion}",
			Settings: []Setting{{Name: "resourceName", Env: []string{"AZURE_COGNITIVE_SERVICES_RESOURCE_NAME"}}, version},
		},
		{
			ID: "cloudflare-ai-gateway", Name: "Cloudflare AI Gateway", KeyEnv: []string{"CLOUDFLARE_API_TOKEN", "CF_AIG_TOKEN"},
			BaseURL:   "https://gateway.ai.cloudflare.com/v1/${accountId}/${gateway}/compat",
			Settings:  []Setting{account, {Name: "gateway", Env: []string{"CLOUDFLARE_GATEWAY_ID"}, Default: "default"}},
			KeyHeader: "Cf-Aig-Authorization", KeyPrefix: "Bearer ",
		},
		{
			ID: "cloudflare-workers-ai", Name: "Cloudflare Workers AI", KeyEnv: []string{"CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN", "CLOUDFLARE_WORKERS_AI_TOKEN"},
			BaseURL:  "https://api.cloudflare.com/client/v4/accounts/${accountId}/ai/v1",
			Settings: []Setting{account},
		},
		{
			ID: "github-copilot", Name: "GitHub Copilot", Scheme: ByCopilot, NoCacheKey: true, BaseURL: "https://api.githubcopilot.com", KeyEnv: []string{"GITHUB_COPILOT_TOKEN"},
			Headers: map[string]string{"Openai-Intent": "conversation-edits"}, Dialect: openaichat.Dialect{Namespace: "copilot", ReasoningField: openaichat.NoReasoning},
		},
		{ID: "google", Name: "Google", BaseURL: "https://generativelanguage.googleapis.com/v1beta", Wire: Gemini, KeyEnv: []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{
			ID: "google-vertex", Name: "Vertex AI", Scheme: ByGoogle, Wire: Gemini, Settings: vertex, KeyEnv: []string{"GOOGLE_VERTEX_API_KEY"},
			BaseURL: "https://${vertexHost}/v1/projects/${project}/locations/${location}/publishers/google",
		},
		{
			ID: "google-vertex-anthropic", Name: "Vertex AI (Claude)", Scheme: ByGoogle, Wire: Messages, Settings: vertex,
			BaseURL: "https://${vertexHost}/v1/projects/${project}/locations/${location}/publishers/anthropic",
		},
		{ID: "openai", Name: "OpenAI", Forms: llm.SchemaSupported, BaseURL: "https://api.openai.com/v1", KeyEnv: []string{"OPENAI_API_KEY"}, Dialect: openai},
	}
}

// compatible are the vendors that speak OpenAI Chat, each with its accent, and the servers that people run themselves.
func compatible() []Vendor {
	rows := []Vendor{
		{ID: "baseten", Name: "Baseten", Forms: llm.SchemaWithoutTools, BaseURL: "https://inference.baseten.co/v1", KeyEnv: []string{"BASETEN_API_KEY"}},
		{ID: "cerebras", Name: "Cerebras", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.cerebras.ai/v1", KeyEnv: []string{"CEREBRAS_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"}},
		{ID: "deepinfra", Name: "Deep Infra", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.deepinfra.com/v1/openai", KeyEnv: []string{"DEEPINFRA_API_KEY"}, Dialect: openaichat.Dialect{TopK: true}},
		{ID: "deepseek", Name: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"}, Dialect: openaichat.Dialect{Thinking: true}},
		{ID: "fireworks-ai", Name: "Fireworks AI", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"}, Dialect: openaichat.Dialect{TopK: true}},
		{ID: "github-models", Name: "GitHub Models", Forms: llm.SchemaSupported, BaseURL: "https://models.github.ai/inference", KeyEnv: []string{"GITHUB_MODELS_TOKEN"}},
		{ID: "groq", Name: "Groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"}},
		{ID: "llamacpp", Name: "llama.cpp", Forms: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:8080/v1", Dialect: openaichat.Dialect{TopK: true}},
		{ID: "lmstudio", Name: "LM Studio", Forms: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:1234/v1", Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "mistral", Name: "Mistral", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"}, Dialect: openaichat.Dialect{
			ReasoningField: openaichat.NoReasoning, CallIDs: openaichat.NineIDs,
			BridgeToolUser: true, NoStreamOptions: true, SeedField: "random_seed", Choice: openaichat.ChoiceAny,
		}},
		{ID: "moonshotai", Name: "Moonshot AI", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.moonshot.ai/v1", KeyEnv: []string{"MOONSHOT_API_KEY"}, Dialect: openaichat.Dialect{Schema: openaichat.SchemaMoonshot, Thinking: true, Choice: openaichat.ChoiceAuto}},
		{ID: "ollama", Name: "Ollama", Forms: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:11434/v1", Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "openrouter", Name: "OpenRouter", Forms: llm.SchemaSupported, BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"}, Dialect: openaichat.Dialect{
			Namespace: "openrouter", ReasoningField: "reasoning", Effort: openaichat.EffortObject, CacheKey: true, TopK: true, Router: true,
		}},
		{ID: "perplexity", Name: "Perplexity", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.perplexity.ai", KeyEnv: []string{"PERPLEXITY_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: openaichat.NoReasoning, TopK: true}},
		{ID: "togetherai", Name: "Together AI", Forms: llm.SchemaWithoutTools, BaseURL: "https://api.together.xyz/v1", KeyEnv: []string{"TOGETHER_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "vercel", Name: "Vercel AI Gateway", Forms: llm.SchemaSupported, BaseURL: "https://ai-gateway.vercel.sh/v1", KeyEnv: []string{"AI_GATEWAY_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"}},
		{ID: "vllm", Name: "vLLM", Forms: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:8000/v1", Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true}},
		{ID: "xai", Name: "xAI", Forms: llm.SchemaSupported, HostedWire: Responses, BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: openaichat.NoReasoning}},
	}
	closed := []string{"cerebras", "groq", "mistral", "openrouter", "perplexity", "xai"} // they refuse what they do not know, or pass it on already
	for i := range rows {
		rows[i].Dialect.Open = !slices.Contains(closed, rows[i].ID)
	}
	return rows
}

// clients are the rows whose vendor a package of the AI SDK is made for.
var clients = map[string]string{
	"@ai-sdk/amazon-bedrock": "amazon-bedrock", "@ai-sdk/anthropic": "anthropic", "@ai-sdk/azure": "azure", "@ai-sdk/baseten": "baseten",
	"@ai-sdk/cerebras": "cerebras", "@ai-sdk/deepinfra": "deepinfra", "@ai-sdk/deepseek": "deepseek", "@ai-sdk/fireworks": "fireworks-ai",
	"@ai-sdk/gateway": "vercel", "@ai-sdk/google": "google", "@ai-sdk/google-vertex": "google-vertex",
	"@ai-sdk/google-vertex/anthropic": "google-vertex-anthropic", "@ai-sdk/groq": "groq", "@ai-sdk/mistral": "mistral",
	"@ai-sdk/moonshotai": "moonshotai", "@ai-sdk/openai": "openai", "@ai-sdk/perplexity": "perplexity", "@ai-sdk/togetherai": "togetherai",
	"@ai-sdk/xai": "xai", "@openrouter/ai-sdk-provider": "openrouter",
}

// Own returns the row of a provider that a user has given a name of their own, by the package that is said for it: the
// vendor's that the package is made for, without what its own address alone is sent, or one for any server that speaks
// OpenAI Chat.
func Own(id, name, pkg string) Vendor {
	row, known := Find(clients[pkg])
	if !known {
		return Compatible(id, name, "")
	}
	row.ID, row.Name, row.KeyEnv, row.Headers = id, name, nil, nil
	return row
}

// Guest is the row for a model that is reached by the package: Azure's models of other makers take what any compatible
// server does.
func (v Vendor) Guest(pkg string) Vendor {
	if v.Row != "azure" && v.Row != "azure-cognitive-services" || pkg != "@ai-sdk/openai-compatible" {
		return v
	}
	plain := Compatible(v.ID, v.Name, v.BaseURL)
	v.Row, v.Dialect, v.Forms = "", plain.Dialect, plain.Forms
	return v
}

// Keyed is the row as it is reached with a key alone: Vertex's own models need no project then.
func (v Vendor) Keyed() Vendor {
	if v.Row == "google-vertex" && v.Wire == Gemini {
		v.BaseURL = "https://${vertexHost}/v1/publishers/google"
	}
	return v
}

// At is the row at an address of the user's own. Azure's is a prefix, as its SDK has it: what follows the name of the
// interface belongs to the row, and the interface's version goes with it unless the address says one.
func (v Vendor) At(address string) Vendor {
	v.BaseURL = address
	if v.Row != "azure" && v.Row != "azure-cognitive-services" || v.Wire != Responses && v.Wire != Chat {
		return v
	}
	address, _, _ = strings.Cut(address, "#")
	base, query, _ := strings.Cut(address, "?")
	base = strings.TrimRight(base, "/")
	for _, suffix := range v.Wire.facts().suffixes {
		base = strings.TrimSuffix(base, suffix)
	}
	if strings.HasSuffix(base, ".azure.com") { // as Azure's portal shows it
		base += "/openai"
	}
	switch base = strings.TrimSuffix(base, "/v1"); {
	case strings.Contains(base, "/deployments/"): // pasted whole
		v.Wire, v.Deployments = Chat, false
		base = strings.TrimSuffix(base, Chat.facts().suffixes[0])
	case !v.Deployments:
		base += "/v1"
	}
	if !strings.Contains("&"+query, "&api-version=") {
		query = strings.TrimPrefix(query+"&api-version=${apiVersion}", "&")
	}
	v.BaseURL = base + "?" + query
	return v
}

// Deployed is the row as it is reached by addresses that name a deployment, with a version of the interface by date; only
// Chat is offered there.
func (v Vendor) Deployed() Vendor {
	v.Wire, v.Deployments = Chat, true
	v.BaseURL = strings.Replace(v.BaseURL, "/openai/v1?", "/openai?", 1)
	v.Settings = slices.Clone(v.Settings)
	for i, s := range v.Settings {
		if s.Name == "apiVersion" {
			v.Settings[i].Default = "2024-10-21"
		}
	}
	return v
}

// Find returns the row of a vendor by its id, or by the short names together and fireworks.
func Find(id string) (Vendor, bool) {
	switch id {
	case "together":
		id = "togetherai"
	case "fireworks":
		id = "fireworks-ai"
	}
	i, known := slices.BinarySearchFunc(table(), id, func(v Vendor, id string) int { return strings.Compare(v.ID, id) })
	if !known {
		return Vendor{}, false
	}
	return table()[i].own(), true
}

// Compatible returns a row for any server that speaks OpenAI Chat at baseURL.
func Compatible(id, name, baseURL string) Vendor {
	return Vendor{ID: id, Name: name, BaseURL: baseURL, Forms: llm.SchemaWithoutTools, Dialect: openaichat.Dialect{TopK: true, Thinking: true, Open: true}}
}

// dialect is the vendor's dialect with what the model changes about it (spec/v1 §30.1, spec/v2 §27 X35).
func dialect(v Vendor, f Facts) openaichat.Dialect {
	d := v.Dialect
	id := strings.ToLower(f.ModelID)
	passedOn := slices.Contains([]string{"github-models", "cloudflare-ai-gateway"}, v.Row) && strings.HasPrefix(id, "openai/")
	openais := passedOn || slices.Contains([]string{"openai", "azure", "azure-cognitive-services"}, v.Row)
	if f.Reasoning && openais {
		d.MaxTokensField = "max_completion_tokens"
	}
	if strings.Contains(id, "claude") || strings.Contains(id, "anthropic/") {
		d.CacheField = "cache_control"
		if v.Row == "github-copilot" {
			d.CacheField = "copilot_cache_control"
		}
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
	if v.Row == "deepseek" && f.Reasoning {
		d.ForceReasoning, d.Choice = true, openaichat.ChoiceAuto // one that thinks is not made to call
	}
	return d
}
