package history

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// sortTools makes the order of the tools the same in every request.
func sortTools(tools []llm.ToolDefinition) {
	slices.SortStableFunc(tools, func(a, b llm.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
}

// equivalentTools maps a word in the name or type of a vendor's tool to the local tool that does the same: a rule that
// denies the local tool denies the vendor's.
var equivalentTools = map[string]string{
	"websearch": "websearch", "xsearch": "websearch", "googlesearch": "websearch", "webfetch": "webfetch",
	"urlcontext": "webfetch",
}

// hostedToolWords returns the name of a vendor's tool, its type and its members, lower-case letters only: the words in
// web_search_20250305 and googleSearchRetrieval tell what they do.
func hostedToolWords(d llm.ToolDefinition) []string {
	words := []string{d.Name}
	var declared map[string]jsontext.Value
	if json.Unmarshal(d.Hosted, &declared) == nil {
		var kind string
		_ = json.Unmarshal(declared["type"], &kind) // optional
		words = append(words, kind)
		for member := range declared {
			words = append(words, member)
		}
	}
	for i, w := range words {
		words[i] = strings.Map(func(r rune) rune {
			if r = unicode.ToLower(r); !unicode.IsLower(r) {
				return -1
			}
			return r
		}, w)
	}
	return words
}
