package option

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// effortName is the option whose words models may add to.
const effortName = "reasoningEffort"

// anybody stands among packages for every vendor but the compatible servers of anybody's.
const anybody = "*"

// efforts are the words for how hard a model thinks (spec/v2 §20.1); Groq has one more.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// table returns the known options by their folded names.
var table = sync.OnceValue(func() map[string]Option {
	out := map[string]Option{}
	for domain, rows := range map[Domain][]Option{
		Generation: controls(), Semantic: append(ofOpenAI(), ofOthers()...), Connection: connections(), Setting: settings(),
		Reserved: reserved(),
	} {
		for _, o := range rows {
			o.Domain = domain
			out[redact.FoldName(o.Name)] = o
		}
	}
	for other, name := range map[string]string{
		"maxoutputtokens": "maxtokens", "maxcompletiontokens": "maxtokens", "stopsequences": "stop", "gatewayid": "gateway",
	} {
		out[other] = out[name]
	}
	return out
})

// controls are those of llm.Generation.
func controls() []Option {
	return []Option{
		{Name: "temperature", takes: from(0, 2)},
		{Name: "topP", takes: from(0, 1)},
		{Name: "topK", takes: count(-1)}, // local servers take 0 or -1 for all
		{Name: "maxTokens", takes: count(1)},
		{Name: "frequencyPenalty", takes: from(-2, 2)},
		{Name: "presencePenalty", takes: from(-2, 2)},
		{Name: "seed", takes: value{kinds: `0`, whole: true}},
		{Name: "stop", takes: value{kinds: `"[`, items: &value{kinds: `"`}}},
	}
}

// ofOpenAI are the options in the words of OpenAI, which many vendors share.
func ofOpenAI() []Option {
	responses := []string{openai, azure, copilot, xai}
	tiers := word("auto", "default", "flex", "scale", "priority")
	return []Option{
		{
			Name: effortName, takes: text(),
			strict: map[string]value{anybody: word(efforts...), groq: word(append([]string{"default"}, efforts...)...)},
		},
		{Name: "reasoningSummary", takes: word("auto", "concise", "detailed", "none"), of: responses},
		{Name: "textVerbosity", takes: word("low", "medium", "high")},
		{Name: "store", takes: flag()},
		{Name: "include", takes: list(text()), of: responses},
		{Name: "serviceTier", takes: text(), strict: map[string]value{
			openai: tiers, azure: tiers, anthropic: word("auto", "standard_only"),
			bedrock: word("default", "flex", "priority", "reserved"), groq: word("auto", "on_demand", "flex", "performance"),
		}},
		{Name: "promptCacheKey", takes: text()},
		{Name: "promptCacheRetention", takes: word("in_memory", "in-memory", "24h")},
		{Name: "instructions", takes: text(), of: responses},
		{Name: "parallelToolCalls", takes: flag()},
		{Name: "logitBias", takes: object()},
		{Name: "metadata", takes: object()},
		{Name: "user", takes: text()},
		{Name: "safetyIdentifier", takes: text()},
		{Name: "maxToolCalls", takes: count(1), of: responses},
	}
}

// ofOthers are the options in the words of Anthropic, Google, Amazon and OpenRouter.
func ofOthers() []Option {
	claudes, geminis := []string{anthropic, vertexClaude}, []string{google, vertex}
	types := word("enabled", "disabled", "adaptive")
	claude, level := thinking(types), word(efforts...)
	return []Option{
		{Name: "thinking", takes: thinking(text()), strict: map[string]value{anthropic: claude, vertexClaude: claude}},
		{Name: "effort", takes: text(), strict: map[string]value{anthropic: level, vertexClaude: level}, of: claudes},
		{Name: "taskBudget", takes: object(), of: claudes},
		{Name: "disableParallelToolUse", takes: flag()},
		{Name: "sendReasoning", takes: flag(), of: claudes},
		{Name: "mcpServers", takes: list(object()), of: claudes},
		{Name: "contextManagement", takes: object(), of: claudes},
		{Name: "inferenceGeo", takes: text(), of: claudes},
		{Name: "cacheControl", takes: object()},
		{Name: "cacheTTL", takes: word("5m", "1h")},
		{Name: "thinkingConfig", takes: with(map[string]value{
			"includethoughts": flag(), "thinkingbudget": count(-1),
			"thinkinglevel": word("minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
		}), of: geminis},
		{Name: "safetySettings", takes: list(object()), of: geminis},
		{Name: "responseModalities", takes: list(text()), of: geminis},
		{Name: "mediaResolution", takes: text(), of: geminis},
		{Name: "imageConfig", takes: object(), of: geminis},
		{Name: "cachedContent", takes: text(), of: geminis},
		{Name: "reasoningConfig", takes: with(map[string]value{
			"type": types, "budgettokens": count(1), "maxreasoningeffort": level, "display": text(),
		}), of: []string{bedrock}},
		{Name: "guardrailConfig", takes: object(), of: []string{bedrock}},
		{Name: "additionalModelRequestFields", takes: object(), of: []string{bedrock}},
		{Name: "usage", takes: object()},
		{Name: "reasoning", takes: object()},
		{Name: "provider", takes: object()},
		{Name: "transforms", takes: list(text())},
	}
}

// thinking is what switches thoughts on and off; servers that only speak alike have types of their own.
func thinking(types value) value {
	return with(map[string]value{"type": types, "budgettokens": count(1), "display": text(), "clearthinking": flag()})
}

// connections say how to reach a provider, wherever they stand. Those without a kind are looked at where they are read.
func connections() []Option {
	return []Option{
		{Name: "apiKey"},
		{Name: "authToken", takes: text(), of: []string{anthropic}},
		{Name: "baseURL"},
		{Name: "headers"},
		{Name: "timeout"},
		{Name: "connectTimeout"},
		{Name: "headerTimeout"},
		{Name: "chunkTimeout"},
		{Name: "organization", takes: text(), of: []string{openai}},
		{Name: "project", takes: text(), of: []string{openai, vertex, vertexClaude}},
		{Name: "setCacheKey", takes: flag(), but: []string{anthropic, google, vertex, vertexClaude, bedrock}},
		{Name: "enterpriseUrl", takes: text(), of: []string{copilot}},
	}
}

// settings are the further words of the AI SDK, and of the vendors' own tools, for a provider.
func settings() []Option {
	const code = "it takes a program, which a configuration cannot hold"
	return []Option{
		{Name: "accessKeyId", takes: text(), of: []string{bedrock}},
		{Name: "accountId", takes: text(), of: []string{cloudflare}},
		{Name: "apiVersion", takes: text(), of: []string{azure}},
		{Name: "appName", takes: text(), of: []string{openrouter}},
		{Name: "appUrl", takes: text(), of: []string{openrouter}},
		{Name: "clientId", takes: text()},
		{Name: "compatibility", dead: "cairn finds out what a server takes by itself"},
		{Name: "credentialProvider", dead: code},
		{Name: "endpoint", takes: text(), of: []string{bedrock}},
		{Name: "fetch", dead: code},
		{Name: "gateway", takes: text(), of: []string{cloudflare}},
		{Name: "googleAuthOptions", dead: "cairn uses Google's application default credentials"},
		{Name: "includeUsage", takes: flag(), but: []string{anthropic, google, vertex, vertexClaude, bedrock, openai, azure}},
		{Name: "location", takes: text(), of: []string{vertex, vertexClaude}},
		{Name: "name", takes: text()},
		{Name: "profile", takes: text(), of: []string{bedrock}},
		{Name: "queryParams", takes: object()},
		{Name: "region", takes: text(), of: []string{bedrock}},
		{Name: "resourceName", takes: text(), of: []string{azure}},
		{Name: "secretAccessKey", takes: text(), of: []string{bedrock}},
		{Name: "sessionToken", takes: text(), of: []string{bedrock}},
		{Name: "supportsStructuredOutputs", takes: flag(), but: []string{google, vertex, bedrock}},
		{Name: "useCompletionUrls", takes: flag(), of: []string{azure, openai}},
		{Name: "useDeploymentBasedUrls", takes: flag(), of: []string{azure}},
	}
}

// reserved are the fields that the protocols fill (spec/v2 §20.1 LM-2).
func reserved() []Option {
	var out []Option
	for _, name := range []string{
		"content", "contents", "generationConfig", "inferenceConfig", "input", "messages", "model", "responseFormat",
		"stream", "streamOptions", "system", "systemInstruction", "toolChoice", "toolConfig", "tools",
	} {
		out = append(out, Option{Name: name})
	}
	return out
}
