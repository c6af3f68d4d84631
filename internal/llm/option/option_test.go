package option

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestWrong holds values of the known options, as people write them, to what the vendors take.
func TestWrong(t *testing.T) {
	anybodys, closed := VendorOf("mine", compatible), VendorOf("openai", "")
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
		{"stopSequences", `["a",1]`, closed, "1", "a string"},
		{"stop", `true`, closed, "", "a string or a list in square brackets"},
		{"reasoningEffort", `"ultra"`, anybodys, "", ""},
		{"reasoning_effort", `"ultra"`, closed, "", `"none", "minimal", "low", "medium", "high", "xhigh" or "max"`},
		{"reasoningEffort", `"ultra"`, Vendor{Package: openai, Efforts: []string{"ultra"}}, "", ""},
		{"reasoningEffort", `"default"`, VendorOf("groq", ""), "", ""},
		{"reasoningEffort", `3`, anybodys, "", "a string"},
		{"store", `"maybe"`, anybodys, "", "true or false"},
		{"serviceTier", `["a"]`, anybodys, "", "a string"},
		{"serviceTier", `"on_demand"`, anybodys, "", ""},
		{"serviceTier", `"on_demand"`, closed, "", `"auto", "default", "flex", "scale" or "priority"`},
		{"serviceTier", `"standard_only"`, VendorOf("anthropic", ""), "", ""},
		{
			"thinking", `{"type":"enabled","budgetTokens":"many"}`, VendorOf("anthropic", ""), "budgetTokens",
			"a whole number, 1 or more",
		},
		{"thinking", `{"type":"auto"}`, anybodys, "", ""},
		{"thinking", `{"type":"auto"}`, VendorOf("anthropic", ""), "type", `"enabled", "disabled" or "adaptive"`},
		{"thinking", `"on"`, anybodys, "", "an object in braces"},
		{"thinkingConfig", `{"thinkingBudget":-1,"includeThoughts":true,"new":[]}`, VendorOf("google", ""), "", ""},
		{
			"thinkingConfig", `{"thinking_level":"most"}`, VendorOf("google", ""), "thinking_level",
			`"minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM" or "HIGH"`,
		},
		{"include", `["a",{}]`, closed, "1", "a string"},
		{"safetySettings", `[[]]`, closed, "0", "an object in braces"},
		{"useDeploymentBasedUrls", `"yes"`, VendorOf("azure", ""), "", "true or false"},
		{"enable_thinking", `"whatever"`, closed, "", ""},
	} {
		o := Find(tt.name)
		if inside, want := o.FindProblem(jsontext.Value(tt.value), tt.at); inside != tt.inside || want != tt.want {
			t.Errorf(
				"%s: %s at %q: %q wants %q; want %q, %q", tt.name, tt.value, tt.at.Package, inside, want, tt.inside, tt.want,
			)
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
		{"apiVersion", VendorOf("azure", ""), true, ""},
		{"resourceName", VendorOf("azure", ""), false, ""},
		{"resourceName", VendorOf("azure", ""), true, "baseURL already contains the complete address"},
		{"resourceName", VendorOf("openai", ""), false, "only providers with @ai-sdk/azure read it"},
		{"project", VendorOf("google-vertex-anthropic", ""), false, ""},
		{"fetch", VendorOf("openai", ""), false, "its value is a program, which a configuration cannot contain"},
		{"region", Vendor{}, false, ""},
		{"setCacheKey", VendorOf("google", ""), false, "@ai-sdk/google does not support it"},
		{"setCacheKey", VendorOf("mine", compatible), false, ""},
		{"temperature", VendorOf("openai", ""), true, ""},
		{
			"thinkingConfig", VendorOf("openai", ""), false,
			"only providers with @ai-sdk/google or @ai-sdk/google-vertex read it",
		},
		{"thinkingConfig", VendorOf("azure", ""), false, ""},
		{
			"reasoningSummary", VendorOf("mine", compatible), false,
			"only providers with @ai-sdk/openai or @ai-sdk/azure or @ai-sdk/github-copilot or @ai-sdk/xai read it",
		},
		{"effort", VendorOf("someone", ""), false, ""},
	} {
		if got := Find(tt.name).UnusedReason(tt.at, tt.own); got != tt.want {
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
			if inside, want := Find(name).FindProblem(jsontext.Value(v), VendorOf(provider, "")); inside != "" && want == "" {
				t.Errorf("%s is wrong, and nothing is wanted", inside)
			}
		}
	})
}
