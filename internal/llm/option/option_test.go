package option

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestWrong holds values of the known options, as people write them, to what the vendors take.
func TestWrong(t *testing.T) {
	anybodys, closed := Of("mine", compatible), Of("openai", "")
	for _, tt := range []struct {
		name, value  string
		at           Vendor
		inside, want string
	}{
		{"temperature", `0.7`, closed, "", ""},
		{"temperature", `2.5`, closed, "", "a number from 0 to 2"},
		{"temperature", `"warm"`, anybodys, "", "a number from 0 to 2"},
		{"temperature", `null`, closed, "", ""},
		{"top_p", `7`, anybodys, "", "a number from 0 to 1"},
		{"topP", `1e400`, anybodys, "", "a number from 0 to 1"},
		{"top_k", `-1`, anybodys, "", ""},
		{"topK", `1.5`, anybodys, "", "a whole number, -1 or more"},
		{"maxOutputTokens", `-5`, closed, "", "a whole number, 1 or more"},
		{"max_completion_tokens", `0`, closed, "", "a whole number, 1 or more"},
		{"seed", `1.5`, closed, "", "a whole number"},
		{"stop", `"END"`, closed, "", ""},
		{"stopSequences", `["a",1]`, closed, "1", "text in quotes"},
		{"stop", `true`, closed, "", "text in quotes or a list in square brackets"},
		{"reasoningEffort", `"ultra"`, anybodys, "", ""},
		{"reasoning_effort", `"ultra"`, closed, "", `"none", "minimal", "low", "medium", "high", "xhigh" or "max"`},
		{"reasoningEffort", `"ultra"`, Vendor{Package: openai, Efforts: []string{"ultra"}}, "", ""},
		{"reasoningEffort", `"default"`, Of("groq", ""), "", ""},
		{"reasoningEffort", `3`, anybodys, "", "text in quotes"},
		{"store", `"maybe"`, anybodys, "", "true or false"},
		{"serviceTier", `["a"]`, anybodys, "", "text in quotes"},
		{"serviceTier", `"on_demand"`, anybodys, "", ""},
		{"serviceTier", `"on_demand"`, closed, "", `"auto", "default", "flex", "scale" or "priority"`},
		{"serviceTier", `"standard_only"`, Of("anthropic", ""), "", ""},
		{"thinking", `{"type":"enabled","budgetTokens":"many"}`, Of("anthropic", ""), "budgetTokens", "a whole number, 1 or more"},
		{"thinking", `{"type":"auto"}`, anybodys, "", ""},
		{"thinking", `{"type":"auto"}`, Of("anthropic", ""), "type", `"enabled", "disabled" or "adaptive"`},
		{"thinking", `"on"`, anybodys, "", "an object in braces"},
		{"thinkingConfig", `{"thinkingBudget":-1,"includeThoughts":true,"new":[]}`, Of("google", ""), "", ""},
		{"thinkingConfig", `{"thinking_level":"most"}`, Of("google", ""), "thinking_level", `"minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM" or "HIGH"`},
		{"include", `["a",{}]`, closed, "1", "text in quotes"},
		{"safetySettings", `[[]]`, closed, "0", "an object in braces"},
		{"useDeploymentBasedUrls", `"yes"`, Of("azure", ""), "", "true or false"},
		{"enable_thinking", `"whatever"`, closed, "", ""},
	} {
		o := Find(tt.name)
		if inside, want := o.Wrong(jsontext.Value(tt.value), tt.at); inside != tt.inside || want != tt.want {
			t.Errorf("%s: %s at %q: %q wants %q; want %q, %q", tt.name, tt.value, tt.at.Package, inside, want, tt.inside, tt.want)
		}
	}
}

func TestUnread(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   Vendor
		own  bool
		want string
	}{
		{"apiVersion", Of("azure", ""), true, ""},
		{"resourceName", Of("azure", ""), false, ""},
		{"resourceName", Of("azure", ""), true, "the address is said whole, in baseURL"},
		{"resourceName", Of("openai", ""), false, "only providers with @ai-sdk/azure read it"},
		{"project", Of("google-vertex-anthropic", ""), false, ""},
		{"fetch", Of("openai", ""), false, "it takes a program, which a configuration cannot hold"},
		{"region", Vendor{}, false, ""},
		{"setCacheKey", Of("google", ""), false, "@ai-sdk/google has nothing like it"},
		{"setCacheKey", Of("mine", compatible), false, ""},
		{"temperature", Of("openai", ""), true, ""},
		{"thinkingConfig", Of("openai", ""), false, "only providers with @ai-sdk/google or @ai-sdk/google-vertex read it"},
		{"thinkingConfig", Of("azure", ""), false, ""},
		{"reasoningSummary", Of("mine", compatible), false, "only providers with @ai-sdk/openai or @ai-sdk/azure or @ai-sdk/github-copilot or @ai-sdk/xai read it"},
		{"effort", Of("someone", ""), false, ""},
	} {
		if got := Find(tt.name).Unread(tt.at, tt.own); got != tt.want {
			t.Errorf("%s at %q, %v: %q, want %q", tt.name, tt.at.Package, tt.own, got, tt.want)
		}
	}
}

// What comes from outside may be anything; the right thing to do with it is never to stop.
func FuzzWrong(f *testing.F) {
	f.Add("thinking", `{"type":"enabled","budgetTokens":8000}`, "anthropic")
	f.Add("stop", `["a",null]`, "")
	f.Add("top_p", `-0`, "openai")
	f.Fuzz(func(t *testing.T, name, v, provider string) {
		if jsontext.Value(v).IsValid() {
			if inside, want := Find(name).Wrong(jsontext.Value(v), Of(provider, "")); inside != "" && want == "" {
				t.Errorf("%s is wrong, and nothing is wanted", inside)
			}
		}
	})
}
