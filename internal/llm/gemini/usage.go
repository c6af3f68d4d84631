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

// parseUsage reads the usage of a frame, which covers the answer so far. Cached tokens are part of the prompt, the
// input of hosted tools is added to it, and thoughts are reported separately from the answer.
func (t *turn) parseUsage(raw jsontext.Value) {
	var u usage
	used, ok := wire.ReadUsage(raw, &u)
	if !ok {
		return
	}
	used.Input = wire.ParseTokenCount(u.Prompt) + wire.ParseTokenCount(u.ToolPrompt)
	used.Reasoning = wire.ParseTokenCount(u.Thoughts)
	used.Output = wire.ParseTokenCount(u.Candidates) + used.Reasoning
	used.CacheRead = wire.ParseTokenCount(u.Cached)
	used.Total = wire.ParseTokenCount(u.Total)
	t.usage = wire.ClampUsage(used)
}
