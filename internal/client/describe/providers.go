package describe

import (
	"cmp"
	"slices"
	"strings"
)

// CommonProviders returns what lists of logins begin with.
func CommonProviders() []string {
	return []string{
		"anthropic", "openai", "google", "openrouter", "github-copilot", "xai", "deepseek", "mistral", "groq",
	}
}

// CompareProviders orders ids of providers: common ones first, the others by name.
func CompareProviders(a, b string) int {
	common := CommonProviders()
	rank := func(id string) int {
		if i := slices.Index(common, id); i >= 0 {
			return i
		}
		return len(common)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
