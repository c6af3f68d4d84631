package option

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// effortName is the option whose values a model may extend.
const effortName = "reasoningEffort"

// everyVendor is the package of values for every vendor except compatible servers.
const everyVendor = "*"

// efforts are the reasoning efforts; Groq has one more.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// optionTable returns the known options by their folded names.
var optionTable = sync.OnceValue(func() map[string]Option {
	out := map[string]Option{}
	for domain, rows := range map[Domain][]Option{
		Generation: generationOptions(), Semantic: append(openAIOptions(), otherOptions()...),
		Connection: connectionOptions(), Setting: settingOptions(), Reserved: reservedOptions(),
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

// generationOptions are the options of llm.Generation.
func generationOptions() []Option {
	return []Option{
		{Name: "temperature", accepts: numberRange(0, 2)},
		{Name: "topP", accepts: numberRange(0, 1)},
		{Name: "topK", accepts: minInteger(-1)}, // local servers accept 0 or -1 for no limit
		{Name: "maxTokens", accepts: minInteger(1)},
		{Name: "frequencyPenalty", accepts: numberRange(-2, 2)},
		{Name: "presencePenalty", accepts: numberRange(-2, 2)},
		{Name: "seed", accepts: valueSpec{types: `0`, whole: true}},
		{Name: "stop", accepts: valueSpec{types: `"[`, items: &valueSpec{types: `"`}}},
	}
}

// openAIOptions are OpenAI's options, which many vendors share.
func openAIOptions() []Option {
	// Some options exist only in the Responses protocol, which these packages speak.
	responses := []string{openai, azure, copilot, xai}
	tiers := wordValue("auto", "default", "flex", "scale", "priority")
	return []Option{
		{
			Name: effortName, accepts: textValue(),
			strict: map[string]valueSpec{
				everyVendor: wordValue(efforts...), groq: wordValue(append([]string{"default"}, efforts...)...),
			},
		},
		{Name: "reasoningSummary", accepts: wordValue("auto", "concise", "detailed", "none"), readers: responses},
		{Name: "textVerbosity", accepts: wordValue("low", "medium", "high")},
		{Name: "store", accepts: boolValue()},
		{Name: "include", accepts: listValue(textValue()), readers: responses},
		{Name: "serviceTier", accepts: textValue(), strict: map[string]valueSpec{
			openai: tiers, azure: tiers, anthropic: wordValue("auto", "standard_only"),
			bedrock: wordValue("default", "flex", "priority", "reserved"),
			groq:    wordValue("auto", "on_demand", "flex", "performance"),
		}},
		{Name: "promptCacheKey", accepts: textValue()},
		{Name: "promptCacheRetention", accepts: wordValue("in_memory", "in-memory", "24h")},
		{Name: "instructions", accepts: textValue(), readers: responses},
		{Name: "parallelToolCalls", accepts: boolValue()},
		{Name: "logitBias", accepts: objectValue()},
		{Name: "metadata", accepts: objectValue()},
		{Name: "user", accepts: textValue()},
		{Name: "safetyIdentifier", accepts: textValue()},
		{Name: "maxToolCalls", accepts: minInteger(1), readers: responses},
	}
}

// otherOptions are the options of Anthropic, Google, Amazon and OpenRouter.
func otherOptions() []Option {
	claudes, geminis := []string{anthropic, vertexClaude}, []string{google, vertex}
	types := wordValue("enabled", "disabled", "adaptive")
	claude, level := thinkingValue(types), wordValue(efforts...)
	// In the order of Anthropic, Google, Amazon and OpenRouter. An option without readers is for every vendor.
	return []Option{
		{
			Name: "thinking", accepts: thinkingValue(textValue()),
			strict: map[string]valueSpec{anthropic: claude, vertexClaude: claude},
		},
		{
			Name: "effort", accepts: textValue(), strict: map[string]valueSpec{anthropic: level, vertexClaude: level},
			readers: claudes,
		},
		{Name: "taskBudget", accepts: objectValue(), readers: claudes},
		{Name: "disableParallelToolUse", accepts: boolValue()},
		{Name: "sendReasoning", accepts: boolValue(), readers: claudes},
		{Name: "mcpServers", accepts: listValue(objectValue()), readers: claudes},
		{Name: "contextManagement", accepts: objectValue(), readers: claudes},
		{Name: "inferenceGeo", accepts: textValue(), readers: claudes},
		{Name: "cacheControl", accepts: objectValue()},
		{Name: "cacheTTL", accepts: wordValue("5m", "1h")},
		{Name: "thinkingConfig", accepts: objectWith(map[string]valueSpec{
			"includethoughts": boolValue(), "thinkingbudget": minInteger(-1),
			"thinkinglevel": wordValue("minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
		}), readers: geminis},
		{Name: "safetySettings", accepts: listValue(objectValue()), readers: geminis},
		{Name: "responseModalities", accepts: listValue(textValue()), readers: geminis},
		{Name: "mediaResolution", accepts: textValue(), readers: geminis},
		{Name: "imageConfig", accepts: objectValue(), readers: geminis},
		{Name: "cachedContent", accepts: textValue(), readers: geminis},
		{Name: "reasoningConfig", accepts: objectWith(map[string]valueSpec{
			"type": types, "budgettokens": minInteger(1), "maxreasoningeffort": level, "display": textValue(),
		}), readers: []string{bedrock}},
		{Name: "guardrailConfig", accepts: objectValue(), readers: []string{bedrock}},
		{Name: "additionalModelRequestFields", accepts: objectValue(), readers: []string{bedrock}},
		{Name: "usage", accepts: objectValue()},
		{Name: "reasoning", accepts: objectValue()},
		{Name: "provider", accepts: objectValue()},
		{Name: "transforms", accepts: listValue(textValue())},
	}
}

// thinkingValue is the option that switches reasoning on and off; compatible servers have types of their own.
func thinkingValue(types valueSpec) valueSpec {
	return objectWith(map[string]valueSpec{
		"type": types, "budgettokens": minInteger(1), "display": textValue(), "clearthinking": boolValue(),
	})
}

// connectionOptions returns the options that tell how to reach a provider, at every level. Those without a type are
// checked where they are read.
func connectionOptions() []Option {
	return []Option{
		{Name: "apiKey"},
		{Name: "authToken", accepts: textValue(), readers: []string{anthropic}},
		{Name: "baseURL"},
		{Name: "headers"},
		{Name: "timeout"},
		{Name: "connectTimeout"},
		{Name: "headerTimeout"},
		{Name: "chunkTimeout"},
		{Name: "organization", accepts: textValue(), readers: []string{openai}},
		{Name: "project", accepts: textValue(), readers: []string{openai, vertex, vertexClaude}},
		{Name: "setCacheKey", accepts: boolValue(), nonReaders: []string{anthropic, google, vertex, vertexClaude, bedrock}},
		{Name: "enterpriseUrl", accepts: textValue(), readers: []string{copilot}},
	}
}

// settingOptions are further provider settings of the AI SDK and of vendors' tools.
func settingOptions() []Option {
	const code = "its value is a program, which a configuration cannot contain"
	// Sorted by name. An option with a reason is known but has no effect.
	return []Option{
		{Name: "accessKeyId", accepts: textValue(), readers: []string{bedrock}},
		{Name: "accountId", accepts: textValue(), readers: []string{cloudflare}},
		{Name: "apiVersion", accepts: textValue(), readers: []string{azure}},
		{Name: "appName", accepts: textValue(), readers: []string{openrouter}},
		{Name: "appUrl", accepts: textValue(), readers: []string{openrouter}},
		{Name: "clientId", accepts: textValue()},
		{Name: "compatibility", unusedReason: "cairn detects what a server accepts"},
		{Name: "credentialProvider", unusedReason: code},
		{Name: "endpoint", accepts: textValue(), readers: []string{bedrock}},
		{Name: "fetch", unusedReason: code},
		{Name: "gateway", accepts: textValue(), readers: []string{cloudflare}},
		{Name: "googleAuthOptions", unusedReason: "cairn uses Google's application default credentials"},
		{
			Name: "includeUsage", accepts: boolValue(),
			nonReaders: []string{anthropic, google, vertex, vertexClaude, bedrock, openai, azure},
		},
		{Name: "location", accepts: textValue(), readers: []string{vertex, vertexClaude}},
		{Name: "name", accepts: textValue()},
		{Name: "profile", accepts: textValue(), readers: []string{bedrock}},
		{Name: "queryParams", accepts: objectValue()},
		{Name: "region", accepts: textValue(), readers: []string{bedrock}},
		{Name: "resourceName", accepts: textValue(), readers: []string{azure}},
		{Name: "secretAccessKey", accepts: textValue(), readers: []string{bedrock}},
		{Name: "sessionToken", accepts: textValue(), readers: []string{bedrock}},
		{Name: "supportsStructuredOutputs", accepts: boolValue(), nonReaders: []string{google, vertex, bedrock}},
		{Name: "useCompletionUrls", accepts: boolValue(), readers: []string{azure, openai}},
		{Name: "useDeploymentBasedUrls", accepts: boolValue(), readers: []string{azure}},
	}
}

// reservedOptions are the fields that the protocols own.
func reservedOptions() []Option {
	var out []Option
	for _, name := range []string{
		"content", "contents", "generationConfig", "inferenceConfig", "input", "messages", "model", "responseFormat",
		"stream", "streamOptions", "system", "systemInstruction", "toolChoice", "toolConfig", "tools",
	} {
		out = append(out, Option{Name: name})
	}
	return out
}
