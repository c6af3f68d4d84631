package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// one builds a catalog of one model and returns it.
func one(tb testing.TB, provider, npm, id, fields string) Model {
	tb.Helper()
	source := `{"` + provider + `":{"name":"P","npm":"` + npm + `","api":"https://p","env":["K"],"models":{"` + id +
		`":{` + fields + `}}}}`
	return model(tb, build(tb, Overlay{Facts: parsed(tb, source)}), provider, id)
}

func printed(options map[string]jsontext.Value) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, name+"="+string(options[name]))
	}
	return strings.Join(out, " ")
}

func TestDefaults(t *testing.T) {
	const thinks = `"reasoning":true,"temperature":true`
	tests := []struct{ provider, npm, id, fields, want string }{
		{
			"openai",
			"@ai-sdk/openai",
			"gpt-5",
			thinks,
			`include=["reasoning.encrypted_content"] reasoningEffort="medium" reasoningSummary="auto" store=false`,
		},
		{
			"openai",
			"@ai-sdk/openai",
			"gpt-5.2",
			thinks,
			`include=["reasoning.encrypted_content"] reasoningEffort="medium" reasoningSummary="auto" store=false ` +
				`textVerbosity="low"`,
		},
		{
			"openai",
			"@ai-sdk/openai",
			"gpt-5.2-codex",
			thinks,
			`include=["reasoning.encrypted_content"] reasoningEffort="medium" reasoningSummary="auto" store=false`,
		},
		{
			"openai",
			"@ai-sdk/openai",
			"gpt-5-pro",
			thinks,
			`include=["reasoning.encrypted_content"] reasoningSummary="auto" store=false`,
		},
		{"openai", "@ai-sdk/openai", "gpt-5-chat-latest", thinks, `store=false`},
		{"openai", "@ai-sdk/openai", "gpt-4o", thinks, `store=false`},
		{
			"openai",
			"@ai-sdk/openai",
			"gpt-5",
			thinks + `,"options":{"reasoning_effort":"low","store":null}`,
			`include=["reasoning.encrypted_content"] reasoningSummary="auto" reasoning_effort="low"`,
		},
		{"azure", "@ai-sdk/azure", "gpt-5.5", thinks, `reasoningSummary="auto" store=false`},
		{
			"github-copilot",
			"@ai-sdk/openai-compatible",
			"gpt-5.1",
			thinks,
			`reasoningEffort="medium" reasoningSummary="auto" textVerbosity="low"`,
		},
		{"vercel", "@ai-sdk/gateway", "openai/gpt-5.1", thinks, `reasoningEffort="medium"`},
		{
			"google",
			"@ai-sdk/google",
			"gemini-3-pro",
			thinks,
			`temperature=1 thinkingConfig={"includeThoughts":true,"thinkingLevel":"high"} topK=64 topP=0.95`,
		},
		{
			"google",
			"@ai-sdk/google",
			"gemini-2.5-pro",
			thinks,
			`temperature=1 thinkingConfig={"includeThoughts":true} topK=64 topP=0.95`,
		},
		{"google", "@ai-sdk/google", "gemini-2.5-lite", `"temperature":false`, `topK=64 topP=0.95`},
		{
			"openrouter",
			"@openrouter/ai-sdk-provider",
			"google/gemini-3-pro",
			thinks,
			`reasoning={"effort":"high"} temperature=1 topK=64 topP=0.95 usage={"include":true}`,
		},
		{"anthropic", "@ai-sdk/anthropic", "claude-sonnet-4-5", thinks, ``},
		{"x", "@ai-sdk/openai-compatible", "kimi-k2-thinking", thinks, `temperature=1`},
		{"x", "@ai-sdk/openai-compatible", "Kimi-K2.5", thinks, `temperature=1 topP=0.95`},
		{"x", "@ai-sdk/openai-compatible", "kimi-k2-0905", thinks, `temperature=0.6`},
		{"x", "@ai-sdk/openai-compatible", "qwen3-coder", thinks, `temperature=0.55 topP=1`},
		{"x", "@ai-sdk/openai-compatible", "minimax-m2.1", thinks, `temperature=1 topK=40 topP=0.95`},
		{"zai", "@ai-sdk/openai-compatible", "glm-5", thinks, `thinking={"type":"enabled","clear_thinking":false}`},
		{
			"zhipuai",
			"@ai-sdk/openai-compatible",
			"glm-4.6",
			thinks,
			`temperature=1 thinking={"type":"enabled","clear_thinking":false}`,
		},
		{
			"alibaba-cn",
			"@ai-sdk/openai-compatible",
			"qwen3-max",
			thinks,
			`enable_thinking=true temperature=0.55 topP=1`,
		},
		{"alibaba-cn", "@ai-sdk/openai-compatible", "qwen3-coder", `"temperature":true`, `temperature=0.55 topP=1`},
		{"minimax", "@ai-sdk/anthropic", "MiniMax-M3", thinks, `thinking={"type":"adaptive"}`},
		{
			"kimi-for-coding",
			"@ai-sdk/anthropic",
			"k2p5",
			thinks + `,"limit":{"output":32768}`,
			`thinking={"type":"enabled","budgetTokens":16000}`,
		},
		{
			"kimi-for-coding",
			"@ai-sdk/anthropic",
			"kimi-k2.5",
			thinks + `,"limit":{"output":8192}`,
			`temperature=1 thinking={"type":"enabled","budgetTokens":4095} topP=0.95`,
		},
		{
			"baseten",
			"@ai-sdk/openai-compatible",
			"glm-4.6",
			thinks,
			`chat_template_args={"enable_thinking":true} temperature=1`,
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, printed(one(t, tt.provider, tt.npm, tt.id, tt.fields).Request.Body)); diff != "" {
			t.Errorf("%s/%s: -want +got:\n%s", tt.provider, tt.id, diff)
		}
	}
}

func TestVariantsOfEachPackage(t *testing.T) {
	const (
		effort = `"limit":{"context":200000,"output":64000},"reasoning":true,"reasoning_options":[{"type":"effort",` +
			`"values":["low","high"]}]`
		budget = `"limit":{"context":200000,"output":64000},"reasoning":true,"reasoning_options":[{"type":"toggle"},` +
			`{"type":"budget_tokens","min":1024}]`
		bound = `"limit":{"context":200000,"output":8192},"reasoning":true,"reasoning_options":[{"type":"budget_tokens",` +
			`"max":32768}]`
		both = `"limit":{"output":9000},"reasoning":true,"reasoning_options":[{"type":"budget_tokens"},{"type":"effort",` +
			`"values":["high"]}]`
	)
	tests := []struct{ npm, id, fields, want string }{
		{"@ai-sdk/openai", "o", effort, `low: reasoningEffort="low"; high: reasoningEffort="high"`},
		{"@ai-sdk/openai-compatible", "o", budget, ``},
		{
			"@ai-sdk/anthropic",
			"claude-opus-4-7",
			effort,
			`low: effort="low" thinking={"type":"adaptive","display":"summarized"}; high: effort="high" ` +
				`thinking={"type":"adaptive","display":"summarized"}`,
		},
		{"@ai-sdk/anthropic", "claude-opus-4-5", effort, `low: effort="low"; high: effort="high"`},
		{
			"@ai-sdk/anthropic",
			"claude-sonnet-4-5",
			budget,
			`high: thinking={"type":"enabled","budgetTokens":16000}; max: thinking={"type":"enabled","budgetTokens":31999}`,
		},
		{
			"@ai-sdk/google-vertex/anthropic",
			"claude",
			both,
			`high: effort="high" thinking={"type":"adaptive","display":"summarized"}; max: ` +
				`thinking={"type":"enabled","budgetTokens":8999}`,
		},
		{
			"@ai-sdk/google",
			"gemini-2.5-flash",
			bound,
			`high: thinkingConfig={"includeThoughts":true,"thinkingBudget":8191}; max: thinkingConfig={"includeThoughts":true,` +
				`"thinkingBudget":8191}`,
		},
		{
			"@ai-sdk/google-vertex",
			"gemini-3-pro",
			effort,
			`low: thinkingConfig={"includeThoughts":true,"thinkingLevel":"low"}; high: thinkingConfig={"includeThoughts":true,` +
				`"thinkingLevel":"high"}`,
		},
		{
			"@ai-sdk/amazon-bedrock",
			"anthropic.claude-opus-4-7",
			effort,
			`low: reasoningConfig={"type":"adaptive","maxReasoningEffort":"low"}; high: reasoningConfig={"type":"adaptive",` +
				`"maxReasoningEffort":"high"}`,
		},
		{
			"@ai-sdk/amazon-bedrock",
			"amazon.nova-2",
			effort,
			`low: reasoningConfig={"type":"enabled","maxReasoningEffort":"low"}; high: reasoningConfig={"type":"enabled",` +
				`"maxReasoningEffort":"high"}`,
		},
		{
			"@ai-sdk/amazon-bedrock",
			"anthropic.claude-sonnet-4-5",
			budget,
			`high: reasoningConfig={"type":"enabled","budgetTokens":16000}; max: reasoningConfig={"type":"enabled",` +
				`"budgetTokens":31999}`,
		},
	}
	for _, tt := range tests {
		var got []string
		for _, v := range one(t, "p", tt.npm, tt.id, tt.fields).Variants {
			got = append(got, v.ID+": "+printed(v.Body))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s %s: -want +got:\n%s", tt.npm, tt.id, diff)
		}
	}
}

// Models that think and whose source lists no presets have those of their family.
func TestVariantsOfFamilies(t *testing.T) {
	const thinks, compatible, openai, claude = `"reasoning":true,"limit":{"output":64000}`, "@ai-sdk/openai-compatible",
		"@ai-sdk/openai", "@ai-sdk/anthropic"
	tests := []struct{ provider, npm, id, fields, want string }{
		{"p", compatible, "some", `"limit":{"output":64000}`, ""},
		{"p", compatible, "some", thinks, "low medium high"},
		{"p", compatible, "deepseek-v4-pro", thinks, "low medium high max"},
		{"p", compatible, "deepseek-r1", thinks, ""},
		{"p", compatible, "Kimi-K2-thinking", thinks, ""},
		{"p", compatible, "glm-4.6", thinks, ""},
		{"p", compatible, "glm-5.2", thinks, "high max"},
		{"openrouter", "@openrouter/ai-sdk-provider", "z-ai/glm-5.2", thinks, "high xhigh"},
		{"minimax", claude, "MiniMax-M3", thinks, "none thinking"},
		{"minimax", claude, "MiniMax-M2.1", thinks, ""},
		{"p", compatible, "grok-3-mini", thinks, "low high"},
		{"openai", openai, "gpt-5", thinks, "minimal low medium high"},
		{"openai", openai, "gpt-5.1", thinks, "none low medium high"},
		{"openai", openai, "gpt-5.2", thinks, "none low medium high xhigh"},
		{"openai", openai, "gpt-5-chat-latest", thinks, ""},
		{"openai", openai, "gpt-5.2-chat-latest", thinks, "medium"},
		{"openai", openai, "gpt-5-pro", thinks, "high"},
		{"openai", openai, "gpt-5.2-pro", thinks, "medium high xhigh"},
		{"openai", openai, "gpt-5.1-codex", thinks, "low medium high"},
		{"openai", openai, "gpt-5.1-codex-max", thinks, "low medium high xhigh"},
		{"openai", openai, "gpt-5.3-codex", thinks, "none low medium high xhigh"},
		{"openai", openai, "o3-deep-research", thinks, "medium"},
		{"openai", openai, "o3", thinks, "low medium high"},
		{"openai", openai, "o9", thinks + `,"release_date":"2025-11-20"`, "none low medium high"},
		{"openai", openai, "o9", thinks + `,"release_date":"2026-01-20"`, "none low medium high xhigh"},
		{"anthropic", claude, "claude-opus-4-7", thinks, "low medium high xhigh max"},
		{"anthropic", claude, "claude-sonnet-5", thinks, "low medium high xhigh max"},
		{"anthropic", claude, "claude-sonnet-4-6", thinks, "low medium high max"},
		{"anthropic", claude, "claude-opus-4-5-20251101", thinks, "low medium high"},
		{"anthropic", claude, "claude-sonnet-4-5-20250929", thinks, "high max"},
		{"anthropic", claude, "claude-sonnet-4-20250514", thinks, "high max"},
		{"amazon-bedrock", "@ai-sdk/amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", thinks, "high max"},
		{"amazon-bedrock", "@ai-sdk/amazon-bedrock", "amazon.nova-2-lite", thinks, "low medium high"},
		{"google", "@ai-sdk/google", "gemini-2.5-pro", thinks, "high max"},
		{"google", "@ai-sdk/google", "gemini-3-pro", thinks, "low medium high"},
		{"google", "@ai-sdk/google", "gemini-3-flash", thinks, "minimal low medium high"},
		{"google", "@ai-sdk/google", "gemini-3-pro-image", thinks, "high"},
		{"github-copilot", compatible, "claude-sonnet-4.5", thinks, "low medium high"},
		{"github-copilot", compatible, "gemini-2.5-pro", thinks, ""},
		{"groq", "@ai-sdk/groq", "oss", thinks, "none low medium high"},
		{"mistral", "@ai-sdk/mistral", "mistral-small-2603", thinks, "high"},
		{"mistral", "@ai-sdk/mistral", "magistral", thinks, ""},
		{"alibaba", compatible, "qwen3-max", thinks + `,"reasoning_options":[{"type":"toggle"}]`, "none high"},
	}
	for _, tt := range tests {
		var got []string
		for _, v := range one(t, tt.provider, tt.npm, tt.id, tt.fields).Variants {
			got = append(got, v.ID)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s/%s: -want +got:\n%s", tt.provider, tt.id, diff)
		}
	}
	body := one(t, "google", "@ai-sdk/google", "gemini-2.5-pro", thinks).Variants[1].Body
	if got := printed(body); got != `thinkingConfig={"includeThoughts":true,"thinkingBudget":32768}` {
		t.Errorf("max of gemini-2.5-pro: %s", got)
	}
}
