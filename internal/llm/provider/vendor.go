package provider

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// AuthScheme is the way in which requests to a vendor are authenticated.
type AuthScheme string

// The schemes. The zero value is an API key.
const (
	AuthKey     AuthScheme = ""
	AuthAWS     AuthScheme = "aws"     // signed requests, or Bedrock's own API keys
	AuthGoogle  AuthScheme = "google"  // tokens of Google Cloud's default credentials
	AuthCopilot AuthScheme = "copilot" // GitHub's token and the short-lived tokens that it is exchanged for
)

// Vendor is one row of the vendor table: an endpoint, its authentication and its dialect.
type Vendor struct {
	ID   string
	Name string
	// TableID is the id of the row in the table, whatever ID the user has given it; "" if it is not in the table.
	TableID string
	// BaseURL may contain settings as ${name}; ResolveBaseURL replaces them.
	BaseURL  string
	Settings []Setting
	// KeyEnv are the environment variables for the key, by precedence. A vendor that has some needs a key at its own
	// address.
	KeyEnv []string
	Scheme AuthScheme
	// Wire is the protocol, unless the package of a model implies another.
	Wire Wire
	// KeyHeader is the header of a key, if it is not the wire's; KeyPrefix precedes the key there.
	KeyHeader, KeyPrefix string
	// Headers are sent with every request. Those of the configuration take precedence.
	Headers map[string]string
	// Deployments makes the model part of the path: deployments/{model}/….
	Deployments bool
	// NoCacheKey omits the cache key from requests over Responses.
	NoCacheKey bool
	// Dialect is the dialect of the vendor's Chat endpoint.
	Dialect openaichat.Dialect
	// SchemaSupport is that of the vendor's Chat endpoint, for models with structured output.
	SchemaSupport llm.SchemaSupport
}

// ListVendors returns the vendors in the table, sorted by id. The ids are those of models.dev.
func ListVendors() []Vendor {
	rows := slices.Clone(vendorTable())
	for i := range rows {
		rows[i] = rows[i].clone()
	}
	return rows
}

// vendorTable is built once, because a start looks up many vendors.
var vendorTable = sync.OnceValue(func() []Vendor {
	rows := append(cloudVendors(), compatibleVendors()...)
	for i := range rows {
		rows[i].TableID = rows[i].ID
	}
	slices.SortFunc(rows, func(a, b Vendor) int { return strings.Compare(a.ID, b.ID) })
	return rows
})

// clone returns a row that its user may modify.
func (v Vendor) clone() Vendor {
	v.Settings, v.KeyEnv, v.Headers = slices.Clone(v.Settings), slices.Clone(v.KeyEnv), maps.Clone(v.Headers)
	return v
}

// accountSetting is the account of every Cloudflare vendor.
var accountSetting = Setting{Name: "accountId", Env: []string{"CLOUDFLARE_ACCOUNT_ID"}}

// cloudVendors are the vendors with an address, authentication or protocol of their own.
func cloudVendors() []Vendor {
	openai := openaichat.Dialect{Namespace: "openai", ReasoningField: openaichat.NoReasoning, CacheKey: true}
	version := Setting{Name: "apiVersion", Env: []string{"AZURE_API_VERSION"}, Default: "v1"}
	vertex := []Setting{
		{Name: "project", Env: []string{"GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"}},
		{
			Name: "location", Env: []string{"GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION"},
			Default: "global",
		},
	}
	// Sorted by id.
	return []Vendor{
		{
			ID: "amazon-bedrock", Name: "Amazon Bedrock", Scheme: AuthAWS, Wire: Converse,
			KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"}, BaseURL: "https://bedrock-runtime.${region}.amazonaws.com",
			Settings: []Setting{{Name: "region", Env: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, Default: "us-east-1"}},
		},
		{
			ID: "anthropic", Name: "Anthropic", BaseURL: "https://api.anthropic.com/v1", Wire: Messages,
			KeyEnv: []string{"ANTHROPIC_API_KEY"}, Headers: map[string]string{
				"Anthropic-Beta": "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14",
			},
		},
		{
			ID: "azure", Name: "Azure OpenAI", SchemaSupport: llm.SchemaSupported,
			KeyEnv: []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"}, KeyHeader: "Api-Key", Dialect: openai,
			BaseURL:  "https://${resourceName}.openai.azure.com/openai/v1?api-version=${apiVersion}",
			Settings: []Setting{{Name: "resourceName", Env: []string{"AZURE_RESOURCE_NAME"}}, version},
		},
		{
			ID: "azure-cognitive-services", Name: "Azure AI services", SchemaSupport: llm.SchemaSupported,
			KeyEnv: []string{"AZURE_COGNITIVE_SERVICES_API_KEY"}, KeyHeader: "Api-Key", Dialect: openai,
			BaseURL:  "https://${resourceName}.cognitiveservices.azure.com/openai/v1?api-version=${apiVersion}",
			Settings: []Setting{{Name: "resourceName", Env: []string{"AZURE_COGNITIVE_SERVICES_RESOURCE_NAME"}}, version},
		},
		{
			ID: "cloudflare-ai-gateway", Name: "Cloudflare AI Gateway", KeyEnv: []string{"CLOUDFLARE_API_TOKEN", "CF_AIG_TOKEN"},
			BaseURL:   "https://gateway.ai.cloudflare.com/v1/${accountId}/${gateway}/compat",
			Settings:  []Setting{accountSetting, {Name: "gateway", Env: []string{"CLOUDFLARE_GATEWAY_ID"}, Default: "default"}},
			KeyHeader: "Cf-Aig-Authorization", KeyPrefix: "Bearer ",
		},
		{
			ID: "cloudflare-workers-ai", Name: "Cloudflare Workers AI",
			KeyEnv:  []string{"CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN", "CLOUDFLARE_WORKERS_AI_TOKEN"},
			BaseURL: "https://api.cloudflare.com/client/v4/accounts/${accountId}/ai/v1", Settings: []Setting{accountSetting},
		},
		{
			ID: "github-copilot", Name: "GitHub Copilot", Scheme: AuthCopilot, NoCacheKey: true,
			BaseURL: "https://api.githubcopilot.com", KeyEnv: []string{"GITHUB_COPILOT_TOKEN"},
			Headers: map[string]string{"Openai-Intent": "conversation-edits"},
			Dialect: openaichat.Dialect{Namespace: "copilot", ReasoningField: openaichat.NoReasoning},
		},
		{
			ID: "google", Name: "Google", BaseURL: "https://generativelanguage.googleapis.com/v1beta", Wire: Gemini,
			KeyEnv: []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"},
		},
		{
			ID: "google-vertex", Name: "Vertex AI", Scheme: AuthGoogle, Wire: Gemini, Settings: vertex,
			KeyEnv:  []string{"GOOGLE_VERTEX_API_KEY"},
			BaseURL: "https://${vertexHost}/v1/projects/${project}/locations/${location}/publishers/google",
		},
		{
			ID: "google-vertex-anthropic", Name: "Vertex AI (Claude)", Scheme: AuthGoogle, Wire: Messages, Settings: vertex,
			BaseURL: "https://${vertexHost}/v1/projects/${project}/locations/${location}/publishers/anthropic",
		},
		{
			ID: "openai", Name: "OpenAI", SchemaSupport: llm.SchemaSupported, BaseURL: "https://api.openai.com/v1",
			KeyEnv: []string{"OPENAI_API_KEY"}, Dialect: openai,
		},
	}
}

// compatibleVendors are the vendors that speak OpenAI Chat, with their dialects, and the local servers.
func compatibleVendors() []Vendor {
	rows := append(append(localServers(), openModelVendors()...), []Vendor{
		{
			ID: "baseten", Name: "Baseten", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://inference.baseten.co/v1",
			KeyEnv: []string{"BASETEN_API_KEY"},
		},
		{
			ID: "cerebras", Name: "Cerebras", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://api.cerebras.ai/v1",
			KeyEnv: []string{"CEREBRAS_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning"},
		},
		{
			ID: "deepinfra", Name: "Deep Infra", SchemaSupport: llm.SchemaWithoutTools,
			BaseURL: "https://api.deepinfra.com/v1/openai", KeyEnv: []string{"DEEPINFRA_API_KEY"},
			Dialect: openaichat.Dialect{TopK: true},
		},
		{
			ID: "deepseek", Name: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"},
			Dialect: openaichat.Dialect{Thinking: true},
		},
		{
			ID: "fireworks-ai", Name: "Fireworks AI", SchemaSupport: llm.SchemaWithoutTools,
			BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"},
			Dialect: openaichat.Dialect{TopK: true},
		},
		{
			ID: "github-models", Name: "GitHub Models", SchemaSupport: llm.SchemaSupported,
			BaseURL: "https://models.github.ai/inference", KeyEnv: []string{"GITHUB_MODELS_TOKEN"},
		},
		{
			ID: "groq", Name: "Groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"},
			Dialect: openaichat.Dialect{ReasoningField: "reasoning"},
		},
		{
			ID: "mistral", Name: "Mistral", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://api.mistral.ai/v1",
			KeyEnv: []string{"MISTRAL_API_KEY"}, Dialect: openaichat.Dialect{
				ReasoningField: openaichat.NoReasoning, CallIDs: openaichat.NineIDs,
				BridgeToolUser: true, NoStreamOptions: true, SeedField: "random_seed", Choice: openaichat.ChoiceAny,
			},
		},
		{
			ID: "moonshotai", Name: "Moonshot AI", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://api.moonshot.ai/v1",
			KeyEnv:  []string{"MOONSHOT_API_KEY"},
			Dialect: openaichat.Dialect{Schema: openaichat.SchemaMoonshot, Thinking: true, Choice: openaichat.ChoiceAuto},
		},
		{
			ID: "openrouter", Name: "OpenRouter", SchemaSupport: llm.SchemaSupported, BaseURL: "https://openrouter.ai/api/v1",
			KeyEnv: []string{"OPENROUTER_API_KEY"}, Dialect: openaichat.Dialect{
				Namespace: "openrouter", ReasoningField: "reasoning", Effort: openaichat.EffortObject, CacheKey: true, TopK: true,
				Router: true,
			},
		},
		{
			ID: "perplexity", Name: "Perplexity", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://api.perplexity.ai",
			KeyEnv:  []string{"PERPLEXITY_API_KEY"},
			Dialect: openaichat.Dialect{ReasoningField: openaichat.NoReasoning, TopK: true},
		},
		{
			ID: "togetherai", Name: "Together AI", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "https://api.together.xyz/v1",
			KeyEnv: []string{"TOGETHER_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true},
		},
		{
			ID: "vercel", Name: "Vercel AI Gateway", SchemaSupport: llm.SchemaSupported,
			BaseURL: "https://ai-gateway.vercel.sh/v1", KeyEnv: []string{"AI_GATEWAY_API_KEY"},
			Dialect: openaichat.Dialect{ReasoningField: "reasoning"},
		},
		{
			ID: "xai", Name: "xAI", SchemaSupport: llm.SchemaSupported, Wire: Responses, BaseURL: "https://api.x.ai/v1",
			KeyEnv: []string{"XAI_API_KEY"}, Dialect: openaichat.Dialect{ReasoningField: openaichat.NoReasoning},
		},
	}...)
	// strict vendors refuse unknown fields, or forward the options of others themselves
	strict := []string{"cerebras", "groq", "mistral", "openrouter", "perplexity", "xai"}
	for i := range rows {
		rows[i].Dialect.Open = !slices.Contains(strict, rows[i].ID)
	}
	return rows
}

// openModelVendors are makers and hubs of open models, each with the page that describes its interface.
func openModelVendors() []Vendor {
	// Sorted by id.
	return []Vendor{
		{ // https://huggingface.co/docs/inference-providers
			ID: "huggingface", Name: "Hugging Face", SchemaSupport: llm.SchemaWithoutTools,
			BaseURL: "https://router.huggingface.co/v1", KeyEnv: []string{"HF_TOKEN"},
		},
		{ // https://www.kimi.com/code/docs
			ID: "kimi-for-coding", Name: "Kimi For Coding", BaseURL: "https://api.kimi.com/coding/v1",
			KeyEnv:  []string{"KIMI_API_KEY"},
			Dialect: openaichat.Dialect{Schema: openaichat.SchemaMoonshot, Thinking: true, Choice: openaichat.ChoiceAuto},
		},
		{ // https://platform.minimax.io/docs/api-reference/text-anthropic-api
			ID: "minimax", Name: "MiniMax", Wire: Messages, BaseURL: "https://api.minimax.io/anthropic/v1",
			KeyEnv: []string{"MINIMAX_API_KEY"},
		},
		{ // https://docs.api.nvidia.com/nim/reference/llm-apis
			ID: "nvidia", Name: "NVIDIA", SchemaSupport: llm.SchemaWithoutTools,
			BaseURL: "https://integrate.api.nvidia.com/v1", KeyEnv: []string{"NVIDIA_API_KEY"},
		},
		{ // https://docs.z.ai/api-reference/introduction
			ID: "zai", Name: "Z.AI", BaseURL: "https://api.z.ai/api/paas/v4", KeyEnv: []string{"ZHIPU_API_KEY", "ZAI_API_KEY"},
			Dialect: openaichat.Dialect{Thinking: true, Choice: openaichat.ChoiceAuto},
		},
		{ // https://docs.z.ai/devpack/overview
			ID: "zai-coding-plan", Name: "Z.AI Coding Plan", BaseURL: "https://api.z.ai/api/coding/paas/v4",
			KeyEnv:  []string{"ZHIPU_API_KEY", "ZAI_API_KEY"},
			Dialect: openaichat.Dialect{Thinking: true, Choice: openaichat.ChoiceAuto},
		},
	}
}

// localServers are the servers that people run on their own machine.
func localServers() []Vendor {
	return []Vendor{
		{
			ID: "llamacpp", Name: "llama.cpp", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:8080/v1",
			Dialect: openaichat.Dialect{TopK: true},
		},
		{
			ID: "lmstudio", Name: "LM Studio", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:1234/v1",
			Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true},
		},
		{
			ID: "ollama", Name: "Ollama", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "${ollamaHost}/v1",
			Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true},
		},
		{
			ID: "vllm", Name: "vLLM", SchemaSupport: llm.SchemaWithoutTools, BaseURL: "http://127.0.0.1:8000/v1",
			Dialect: openaichat.Dialect{ReasoningField: "reasoning", TopK: true},
		},
	}
}

// vendorByPackage maps packages of the AI SDK to the vendor that they are made for.
var vendorByPackage = map[string]string{
	"@ai-sdk/amazon-bedrock": "amazon-bedrock", "@ai-sdk/anthropic": "anthropic", "@ai-sdk/azure": "azure",
	"@ai-sdk/baseten": "baseten", "@ai-sdk/cerebras": "cerebras", "@ai-sdk/deepinfra": "deepinfra",
	"@ai-sdk/deepseek": "deepseek", "@ai-sdk/fireworks": "fireworks-ai", "@ai-sdk/gateway": "vercel",
	"@ai-sdk/google": "google", "@ai-sdk/google-vertex": "google-vertex",
	"@ai-sdk/google-vertex/anthropic": "google-vertex-anthropic", "@ai-sdk/groq": "groq", "@ai-sdk/mistral": "mistral",
	"@ai-sdk/moonshotai": "moonshotai", "@ai-sdk/openai": "openai", "@ai-sdk/perplexity": "perplexity",
	"@ai-sdk/togetherai": "togetherai", "@ai-sdk/xai": "xai", "@openrouter/ai-sdk-provider": "openrouter",
}

// NewCustom returns the row of a provider under a name of the user's own: the row of the vendor that the package is
// made for, without what is only sent to the vendor's own address, or else one for any server that speaks OpenAI Chat.
func NewCustom(id, name, pkg string) Vendor {
	row, exists := Find(vendorByPackage[pkg])
	if !exists {
		return NewCompatible(id, name, "")
	}
	row.ID, row.Name, row.KeyEnv, row.Headers = id, name, nil, nil
	return row
}

// ForPackage returns the row for a model of the package: Azure's models of other makers accept what any compatible
// server accepts.
func (v Vendor) ForPackage(pkg string) Vendor {
	if v.TableID != "azure" && v.TableID != "azure-cognitive-services" || pkg != "@ai-sdk/openai-compatible" {
		return v
	}
	plain := NewCompatible(v.ID, v.Name, v.BaseURL)
	v.TableID, v.Dialect, v.SchemaSupport = "", plain.Dialect, plain.SchemaSupport
	return v
}

// WithKeyOnly returns the row for access with an API key alone: Vertex then needs no project for its own models.
func (v Vendor) WithKeyOnly() Vendor {
	if v.TableID == "google-vertex" && v.Wire == Gemini {
		v.BaseURL = "https://${vertexHost}/v1/publishers/google"
	}
	return v
}

// WithAddress returns the row at an address of the user. For Azure the address is a prefix, as in Azure's SDK: the row
// adds the interface's path, and its version unless the address has one.
func (v Vendor) WithAddress(address string) Vendor {
	v.BaseURL = address
	if v.TableID != "azure" && v.TableID != "azure-cognitive-services" || v.Wire != Responses && v.Wire != Chat {
		return v
	}
	address, _, _ = strings.Cut(address, "#")
	base, query, _ := strings.Cut(address, "?")
	base = strings.TrimRight(base, "/")
	for _, suffix := range v.Wire.requestRules().suffixes {
		base = strings.TrimSuffix(base, suffix)
	}
	if strings.HasSuffix(base, ".azure.com") { // the form in Azure's portal
		base += "/openai"
	}
	switch base = strings.TrimSuffix(base, "/v1"); {
	case strings.Contains(base, "/deployments/"): // a complete endpoint
		v.Wire, v.Deployments = Chat, false
		base = strings.TrimSuffix(base, Chat.requestRules().suffixes[0])
	case !v.Deployments:
		base += "/v1"
	}
	if !strings.Contains("&"+query, "&api-version=") {
		query = strings.TrimPrefix(query+"&api-version=${apiVersion}", "&")
	}
	v.BaseURL = base + "?" + query
	return v
}

// WithDeployments returns the row for addresses that name a deployment, with a dated interface version; they offer only
// Chat.
func (v Vendor) WithDeployments() Vendor {
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
	i, exists := slices.BinarySearchFunc(
		vendorTable(), id, func(v Vendor, id string) int { return strings.Compare(v.ID, id) },
	)
	if !exists {
		return Vendor{}, false
	}
	return vendorTable()[i].clone(), true
}

// NewCompatible returns a row for any server that speaks OpenAI Chat at baseURL.
func NewCompatible(id, name, baseURL string) Vendor {
	return Vendor{
		ID: id, Name: name, BaseURL: baseURL, SchemaSupport: llm.SchemaWithoutTools,
		Dialect: openaichat.Dialect{TopK: true, Thinking: true, Open: true},
	}
}

// chatDialect returns the vendor's dialect with the changes that the model requires.
func chatDialect(v Vendor, f Facts) openaichat.Dialect {
	d := v.Dialect
	id := strings.ToLower(f.ModelID)
	// Determine whether an interface of OpenAI answers, directly or through a gateway.
	isForwarded := slices.Contains([]string{"github-models", "cloudflare-ai-gateway"}, v.TableID) &&
		strings.HasPrefix(id, "openai/")
	isOpenAI := isForwarded || slices.Contains([]string{"openai", "azure", "azure-cognitive-services"}, v.TableID)
	d.MergeUsers = !isOpenAI
	if f.Reasoning && isOpenAI {
		d.MaxTokensField = "max_completion_tokens"
	}
	// The id of the model tells to which maker's interface a vendor forwards.
	if strings.Contains(id, "claude") || strings.Contains(id, "anthropic/") {
		d.CacheField = "cache_control"
		if v.TableID == "github-copilot" {
			d.CacheField = "copilot_cache_control"
		}
	}
	if strings.Contains(id, "claude") && d.CallIDs == openaichat.AnyID {
		d.CallIDs = openaichat.WordID
	}
	if strings.Contains(id, "kimi") || strings.Contains(id, "moonshot") {
		d.Schema = openaichat.SchemaMoonshot
	}
	// The catalog names the field for reasoning, but a router has one of its own.
	if f.ReasoningField != "" && !d.Router {
		d.ReasoningField, d.ForceReasoning = f.ReasoningField, true
	}
	if v.TableID == "deepseek" && f.Reasoning {
		d.ForceReasoning, d.Choice = true, openaichat.ChoiceAuto // a reasoning model cannot be forced to call a tool
	}
	return d
}
