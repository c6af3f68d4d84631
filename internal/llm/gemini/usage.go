package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

type usage struct {
	Prompt     jsontext.Value `json:"promptTokenCount"`
	ToolPrompt jsontext.Value `json:"toolUsePromptTokenCount"`
	Candidates jsontext.Value `json:"candidatesTokenCount"`
	Thoughts   jsontext.Value `json:"thoughtsTokenCount"`
	Cached     jsontext.Value `json:"cachedContentTokenCount"`
	Total      jsontext.Value `json:"totalTokenCount"`
}

// count takes the usage of a frame; each tells of the answer so far. Cached tokens are part of the prompt, and what the
// vendor's own tools were fed is input, too; thoughts are counted beside the answer.
func (t *turn) count(raw jsontext.Value) {
	var u usage
	used, ok := wire.ReadUsage(raw, &u)
	if !ok {
		return
	}
	used.Input = wire.Tokens(u.Prompt) + wire.Tokens(u.ToolPrompt)
	used.Reasoning = wire.Tokens(u.Thoughts)
	used.Output = wire.Tokens(u.Candidates) + used.Reasoning
	used.CacheRead = wire.Tokens(u.Cached)
	used.Total = wire.Tokens(u.Total)
	t.usage = wire.Within(used)
}
